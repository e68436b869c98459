#include "tls/failure.h"

namespace cloche::tls {
namespace {

std::string certificate_sentence(long verdict, std::string_view name) {
  const std::string whose = "the certificate of " + std::string(name);
  switch (verdict) {
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return whose + " is not trusted: self-signed";
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return whose + " is not trusted: its issuer is not in the host's bundle";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return whose + " has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return whose + " is not valid yet, by this host's clock";
    case X509_V_ERR_HOSTNAME_MISMATCH:
      return whose + " is for another name";
    default:
      return whose + " is not trusted: " + X509_verify_cert_error_string(verdict);
  }
}

// The reasons from 1000 on are the alerts of the peer.
constexpr int kFirstAlert = 1000;

std::string alert_sentence(int alert, Towards towards, std::string_view name) {
  const std::string words = SSL_alert_desc_string_long(alert);
  if (towards == Towards::kServer) return std::string(name) + " refused the handshake: " + words;
  switch (alert) {
    case SSL3_AD_BAD_CERTIFICATE:
    case SSL3_AD_CERTIFICATE_UNKNOWN:
    case TLS1_AD_UNKNOWN_CA:
      return "the client does not trust the run's certificate authority (" + words + "): it reads no SSL_CERT_FILE";
    default:
      return "the client refused the handshake: " + words;
  }
}

}  // namespace

std::string failure_sentence(SSL* connection, Towards towards, std::string_view name) {
  const unsigned long error = ERR_peek_error();
  const int reason = ERR_GET_REASON(error);
  const char* words = ERR_reason_error_string(error);
  const std::string known = words != nullptr ? words : "unknown error";
  ERR_clear_error();

  const std::string peer = towards == Towards::kServer ? std::string(name) : "the client";
  if (ERR_GET_LIB(error) == ERR_LIB_SSL) {
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
      return certificate_sentence(SSL_get_verify_result(connection), name);
    }
    if (reason > kFirstAlert && reason <= kFirstAlert + 255) return alert_sentence(reason - kFirstAlert, towards, name);
    switch (reason) {
      case SSL_R_UNSUPPORTED_PROTOCOL:
      case SSL_R_VERSION_TOO_LOW:
        return peer + " speaks no TLS 1.2 or later";
      case SSL_R_WRONG_VERSION_NUMBER:
      case SSL_R_HTTP_REQUEST:
      case SSL_R_HTTPS_PROXY_REQUEST:
        return peer + " does not speak TLS";
      case SSL_R_NO_APPLICATION_PROTOCOL:
        return peer + " does not offer HTTP/1.1";
      default:
        break;
    }
  }
  return "TLS with " + peer + " failed: " + known;
}

}  // namespace cloche::tls
