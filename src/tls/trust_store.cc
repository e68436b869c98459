#include "tls/trust_store.h"

#include <openssl/pem.h>

#include <climits>
#include <utility>

#include "tls/openssl.h"

namespace cloche::tls {
namespace {

constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kEnd = "-----END CERTIFICATE-----";

// From one BEGIN to its END, so that what is wrong with one certificate ends with it.
Certificate take_certificate(std::string_view& bundle) {
  const std::size_t begin = bundle.find(kBegin);
  const std::size_t end = begin == std::string_view::npos ? begin : bundle.find(kEnd, begin);
  if (end == std::string_view::npos || bundle.size() > INT_MAX) {
    bundle = {};
    return nullptr;
  }
  const std::string_view text = bundle.substr(begin, end + kEnd.size() - begin);
  bundle.remove_prefix(end + kEnd.size());
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  // Without a callback a password would be asked for on the terminal; certificates have none.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  Certificate certificate(bio == nullptr ? nullptr : PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr));
  ERR_clear_error();
  return certificate;
}

}  // namespace

struct TrustStore::State {
  Context context;
};

TrustStore::TrustStore(std::unique_ptr<State> state, std::size_t count) : state_(std::move(state)), count_(count) {}
TrustStore::TrustStore(TrustStore&&) noexcept = default;
TrustStore& TrustStore::operator=(TrustStore&&) noexcept = default;
TrustStore::~TrustStore() = default;

ssl_ctx_st* TrustStore::context() const { return state_->context.get(); }

Result<TrustStore> TrustStore::from_pem(std::string_view bundle) {
  auto state = std::make_unique<State>();
  CLOCHE_TRY_ASSIGN(state->context, make_context(TLS_client_method()));
  SSL_CTX_set_verify(state->context.get(), SSL_VERIFY_PEER, nullptr);
  X509_STORE* store = SSL_CTX_get_cert_store(state->context.get());
  std::size_t count = 0;
  while (!bundle.empty()) {
    const Certificate certificate = take_certificate(bundle);
    if (certificate != nullptr && X509_STORE_add_cert(store, certificate.get()) == 1) ++count;
  }
  ERR_clear_error();
  if (count == 0) {
    return fail(ErrorCode::kInvalidInput, "tls", "the bundle of trusted certificates holds none",
                "install ca-certificates");
  }
  return TrustStore(std::move(state), count);
}

}  // namespace cloche::tls
