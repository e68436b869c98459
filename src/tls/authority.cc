#include "tls/authority.h"

#include <openssl/pem.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/units.h"
#include "tls/openssl.h"
#include "tls/server_context.h"

namespace cloche::tls {
namespace {

constexpr std::string_view kSubject = "Cloche run CA";
constexpr std::size_t kMaxName = 253;
constexpr std::size_t kMaxCommonName = 64;  // X.520's ub-common-name

struct Extension {
  int nid;
  std::string value;  // in the language of openssl.cnf; nothing but our own words and plain names goes in
};

Status set_serial(X509* certificate) {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return openssl_failure("making a serial number");
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);  // positive, and always of the same length
  const std::unique_ptr<BIGNUM, Freed<BN_free>> number(BN_bin2bn(bytes.data(), bytes.size(), nullptr));
  if (number == nullptr || BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) == nullptr) {
    return openssl_failure("setting a serial number");
  }
  return {};
}

Status set_common_name(X509* certificate, std::string_view name) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  if (X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>(name.data()), static_cast<int>(name.size()), -1,
                                 0) != 1) {
    return openssl_failure("naming a certificate");
  }
  return {};
}

Status set_validity(X509* certificate, Authority::Now now) {
  const time_t from = std::chrono::system_clock::to_time_t(now - kValidBefore);
  const time_t until = std::chrono::system_clock::to_time_t(now + kValidAfter);
  if (ASN1_TIME_set(X509_getm_notBefore(certificate), from) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(certificate), until) == nullptr) {
    return openssl_failure("dating a certificate");
  }
  return {};
}

// No configuration is given, so a value can refer to nothing.
Status add_extensions(X509* certificate, X509* issuer, const std::vector<Extension>& extensions) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509V3_set_ctx_nodb(&context);
  for (const Extension& extension : extensions) {
    const std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>> made(
        X509V3_EXT_conf_nid(nullptr, &context, extension.nid, extension.value.c_str()));
    if (made == nullptr || X509_add_ext(certificate, made.get(), -1) != 1) {
      return openssl_failure("adding " + std::string(OBJ_nid2sn(extension.nid)) + " to a certificate");
    }
  }
  return {};
}

Result<Key> make_key() {
  Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return openssl_failure("making a key");
  return key;
}

struct Issuer {
  X509* certificate;  // null: signs itself
  EVP_PKEY* key;
};

Result<Certificate> make_certificate(std::string_view common_name, EVP_PKEY* key, Issuer issuer, Authority::Now now,
                                     const std::vector<Extension>& extensions) {
  Certificate certificate(X509_new());
  if (certificate == nullptr || X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
      X509_set_pubkey(certificate.get(), key) != 1) {
    return openssl_failure("making a certificate");
  }
  CLOCHE_TRY(set_serial(certificate.get()));
  CLOCHE_TRY(set_validity(certificate.get(), now));
  CLOCHE_TRY(set_common_name(certificate.get(), common_name));
  X509* signer = issuer.certificate != nullptr ? issuer.certificate : certificate.get();
  if (X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer)) != 1) {
    return openssl_failure("naming an issuer");
  }
  CLOCHE_TRY(add_extensions(certificate.get(), signer, extensions));
  if (X509_sign(certificate.get(), issuer.key, EVP_sha256()) == 0) return openssl_failure("signing a certificate");
  return certificate;
}

Result<std::string> to_pem(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || PEM_write_bio_X509(bio.get(), certificate) != 1)
    return openssl_failure("writing a certificate");
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
bool is_label_char(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_'; }

}  // namespace

bool is_plain_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxName) return false;
  std::string_view rest = name;
  while (true) {
    const std::size_t dot = rest.find('.');
    const std::string_view label = rest.substr(0, dot);
    if (label.empty() || label.size() > 63 || !std::ranges::all_of(label, is_label_char)) return false;
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  // A last label that is a number makes an address of it, for one library or another.
  const bool is_number = rest.starts_with("0x") ? std::ranges::all_of(rest.substr(2), is_hex)  //
                                                : std::ranges::all_of(rest, is_digit);
  return !is_number;
}

struct Authority::State {
  struct Minted {
    std::string name;
    Certificate certificate;
  };

  Key key;
  Certificate certificate;
  std::string pem;
  Now now;
  Key leaf_key;  // one for all names: whoever has it is inside this process already
  Context context;
  std::list<Minted> leaves;                                                   // the last used first
  std::unordered_map<std::string_view, std::list<Minted>::iterator> by_name;  // keys lie in `leaves`
};

Authority::Authority(std::unique_ptr<State> state) : state_(std::move(state)) {}
Authority::Authority(Authority&&) noexcept = default;
Authority& Authority::operator=(Authority&&) noexcept = default;
Authority::~Authority() = default;

Result<Authority> Authority::make() {
  return make(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
}

Result<Authority> Authority::make(Now now) {
  auto state = std::make_unique<State>();
  state->now = now;
  CLOCHE_TRY_ASSIGN(state->key, make_key());
  CLOCHE_TRY_ASSIGN(state->leaf_key, make_key());
  CLOCHE_TRY_ASSIGN(state->certificate, make_certificate(kSubject, state->key.get(), {nullptr, state->key.get()}, now,
                                                         {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                                          {NID_key_usage, "critical,keyCertSign"},
                                                          {NID_subject_key_identifier, "hash"}}));
  CLOCHE_TRY_ASSIGN(state->pem, to_pem(state->certificate.get()));
  CLOCHE_TRY_ASSIGN(state->context, make_server_context());
  return Authority(std::move(state));
}

const std::string& Authority::pem() const { return state_->pem; }
std::size_t Authority::leaves_held() const { return state_->leaves.size(); }
ssl_ctx_st* Authority::context() const { return state_->context.get(); }

Result<Leaf> Authority::leaf_for(std::string_view name) {
  State& state = *state_;
  if (const auto found = state.by_name.find(name); found != state.by_name.end()) {
    state.leaves.splice(state.leaves.begin(), state.leaves, found->second);
    return Leaf{state.leaf_key.get(), state.leaves.front().certificate.get()};
  }
  if (!is_plain_name(name)) {
    return fail(ErrorCode::kInvalidInput, "tls", "no certificate is made for " + shown_text(name) + ": it is no name");
  }
  const std::string text(name);
  const std::string_view common_name = name.size() <= kMaxCommonName ? name : "a name of this run";
  CLOCHE_TRY_ASSIGN(Certificate certificate, make_certificate(common_name, state.leaf_key.get(),
                                                              {state.certificate.get(), state.key.get()}, state.now,
                                                              {{NID_basic_constraints, "critical,CA:FALSE"},
                                                               {NID_key_usage, "critical,digitalSignature"},
                                                               {NID_ext_key_usage, "serverAuth"},
                                                               {NID_subject_alt_name, "DNS:" + text},
                                                               {NID_subject_key_identifier, "hash"},
                                                               {NID_authority_key_identifier, "keyid:always"}}));
  if (state.leaves.size() == kMaxLeaves) {
    state.by_name.erase(state.leaves.back().name);
    state.leaves.pop_back();
  }
  state.leaves.push_front({text, std::move(certificate)});
  state.by_name.emplace(state.leaves.front().name, state.leaves.begin());
  return Leaf{state.leaf_key.get(), state.leaves.front().certificate.get()};
}

}  // namespace cloche::tls
