/*
 * The only door to OpenSSL.
 *
 * Strata lets OpenSSL encrypt between memory and memory: a BIO pair stands where a socket would, and no call of OpenSSL
 * touches one. Much of OpenSSL's interface is macros, which Swift does not see: they are static inline functions here.
 */
#ifndef STRATA_COPENSSL_SHIM_H
#define STRATA_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#if defined(LIBRESSL_VERSION_NUMBER) || OPENSSL_VERSION_NUMBER < 0x10101000L
#error "OpenSSL 1.1.1 or later is needed: install libssl-dev"
#endif

/* Instead of a question on the terminal: a key that is protected by a password is refused. */
static int copenssl_no_password(char *buffer, int size, int writing, void *context) {
    (void)buffer; (void)size; (void)writing; (void)context;
    return -1;
}

/* The server has asked for a certificate and there is none: it is noted, and none is given. */
static int copenssl_certificate_asked(SSL *ssl, X509 **certificate, EVP_PKEY **key) {
    (void)certificate; (void)key;
    SSL_set_app_data(ssl, (void *)ssl);
    return 0;
}

/* A context for clients: TLS 1.2 or later (1.3 with `newest`), no renegotiation. NULL when memory is out. */
static inline SSL_CTX *_Nullable copenssl_context_create(int newest) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (context == NULL) return NULL;
    if (SSL_CTX_set_min_proto_version(context, newest ? TLS1_3_VERSION : TLS1_2_VERSION) != 1) {
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    /* Sessions are kept by their owner, by server. */
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_default_passwd_cb(context, copenssl_no_password);
    SSL_CTX_set_client_cert_cb(context, copenssl_certificate_asked);
    return context;
}

static inline void copenssl_context_verify(SSL_CTX *_Nonnull context, int verifies) {
    SSL_CTX_set_verify(context, verifies ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
}

/* The name that is asked for (SNI); 1 when it was taken. */
static inline int copenssl_set_server_name(SSL *_Nonnull ssl, const char *_Nonnull name) {
    return SSL_set_tlsext_host_name(ssl, name) == 1;
}

/* Whether the server has asked for a certificate that was not there. */
static inline int copenssl_was_asked(SSL *_Nonnull ssl) { return SSL_get_app_data(ssl) != NULL; }

/* Forgets the session without word to anybody, and keeps it fit to be resumed. */
static inline void copenssl_keep_session(SSL *_Nonnull ssl) {
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

/* The first error of this thread: its reason if the TLS layer has reported it, else 0. */
static inline int copenssl_tls_reason(unsigned long error) {
    return ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
}

#endif
