#include "tls/authority.h"

#include <openssl/pem.h>

#include <set>

#include "tls/test_support.h"

namespace cloche::tls {
namespace {

Certificate read_pem(const std::string& pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

std::string serial_of(X509* certificate) {
  const ASN1_INTEGER* serial = X509_get0_serialNumber(certificate);
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(serial)),
          static_cast<std::size_t>(ASN1_STRING_length(serial))};
}

std::string common_name(const X509_NAME* name) {
  char text[128] = {};
  X509_NAME_get_text_by_NID(name, NID_commonName, text, sizeof text);
  return text;
}

TEST(Authority, SignsCertificatesAndNothingElse) {
  const Authority authority = make_authority();
  const Certificate certificate = read_pem(authority.pem());
  ASSERT_NE(certificate, nullptr);
  EXPECT_EQ(common_name(X509_get_subject_name(certificate.get())), "Cloche run CA");
  EXPECT_EQ(X509_get_key_usage(certificate.get()), KU_KEY_CERT_SIGN);
  EXPECT_EQ(X509_get_pathlen(certificate.get()), 0);
  EXPECT_TRUE(X509_check_ca(certificate.get()) == 1);
  EXPECT_EQ(authority.pem().find("PRIVATE"), std::string::npos);
}

TEST(Authority, IsValidForTwoDaysAndNoLonger) {
  const Authority authority = make_authority();
  const Certificate certificate = read_pem(authority.pem());
  int days = 0, seconds = 0;
  ASSERT_EQ(
      ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(certificate.get()), X509_get0_notAfter(certificate.get())),
      1);
  EXPECT_EQ(days * 86400 + seconds, 49 * 3600);
  EXPECT_LT(X509_cmp_current_time(X509_get0_notBefore(certificate.get())), 0);
  EXPECT_GT(X509_cmp_current_time(X509_get0_notAfter(certificate.get())), 0);
}

TEST(Authority, TwoRunsShareNothing) {
  const Authority a = make_authority();
  const Authority b = make_authority();
  const Certificate first = read_pem(a.pem()), second = read_pem(b.pem());
  EXPECT_NE(serial_of(first.get()), serial_of(second.get()));
  EXPECT_NE(EVP_PKEY_eq(X509_get0_pubkey(first.get()), X509_get0_pubkey(second.get())), 1);
}

TEST(Authority, ALeafIsForOneNameAndForServers) {
  Authority authority = make_authority();
  const auto leaf = authority.leaf_for(kName);
  ASSERT_TRUE(leaf);
  const auto is_for = [&](std::string_view name) {
    return X509_check_host(leaf->certificate, name.data(), name.size(), X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, nullptr);
  };
  EXPECT_EQ(is_for(kName), 1);
  for (const std::string_view other : {"example.org", "x.api.example.org", "api.example.or", "bpi.example.org"}) {
    EXPECT_EQ(is_for(other), 0) << other;
  }
  EXPECT_EQ(X509_get_extended_key_usage(leaf->certificate), XKU_SSL_SERVER);
  EXPECT_EQ(X509_get_key_usage(leaf->certificate), KU_DIGITAL_SIGNATURE);
  EXPECT_EQ(X509_check_ca(leaf->certificate), 0);
  const Certificate ca = read_pem(authority.pem());
  EXPECT_EQ(X509_verify(leaf->certificate, X509_get0_pubkey(ca.get())), 1);
  // A leaf's key must not sign for the authority.
  EXPECT_NE(EVP_PKEY_eq(leaf->key, X509_get0_pubkey(ca.get())), 1);
}

TEST(Authority, ALeafIsMadeOnceAndTheOldestGivesWay) {
  Authority authority = make_authority();
  std::set<std::string> serials;
  const auto serial = [&](int i) {
    const auto leaf = authority.leaf_for("n" + std::to_string(i) + ".example.org");
    EXPECT_TRUE(leaf);
    return serial_of(leaf->certificate);
  };
  const std::string first = serial(0);
  const std::string second = serial(1);
  for (int i = 2; i < static_cast<int>(kMaxLeaves); ++i) serials.insert(serial(i));
  EXPECT_EQ(serials.size(), kMaxLeaves - 2);  // each its own: some clients refuse a serial that they saw before
  EXPECT_EQ(serial(0), first);
  serial(kMaxLeaves);
  EXPECT_EQ(authority.leaves_held(), kMaxLeaves);
  EXPECT_EQ(serial(0), first);
  EXPECT_NE(serial(1), second);
}

TEST(Authority, NamesThatAreLongerThanACommonName) {
  Authority authority = make_authority();
  const std::string label(60, 'a');
  const std::string name = label + "." + label + "." + label + "." + label + ".org";
  const auto leaf = authority.leaf_for(name);
  ASSERT_TRUE(leaf) << leaf.error().text();
  EXPECT_EQ(X509_check_host(leaf->certificate, name.data(), name.size(), 0, nullptr), 1);
}

TEST(Authority, NothingButAPlainNameGetsACertificate) {
  Authority authority = make_authority();
  for (const std::string_view name :
       {"", ".", "a..b", "*.example.org", "API.example.org", "example.org.", "10.0.0.1", "0x7f.1", "a.0x7f", "::1",
        "a,DNS:b", "a\nb", "a b", "a/b", "\xc3\xa4.org", "@section"}) {
    EXPECT_FALSE(authority.leaf_for(name)) << name;
  }
  EXPECT_FALSE(authority.leaf_for(std::string("a.org\0.b.org", 12)));
  EXPECT_FALSE(authority.leaf_for(std::string(64, 'a') + ".org"));
  EXPECT_EQ(authority.leaves_held(), 0u);
}

}  // namespace
}  // namespace cloche::tls
