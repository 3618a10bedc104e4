package coppice.device;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;

/**
 * Carries calls over HTTPS to a curator or a relay that was started with --http-listen, by {@link HttpURLConnection}.
 *
 * <p>It follows no redirect, decompresses nothing, and reads no more than the library takes. It tries again for about a
 * minute where the other end is unavailable, with waits that grow. One thread at a time may use it.
 */
public final class HttpCarrier implements Carrier {
  private static final int TRY_MILLISECONDS = 30_000;
  private static final long ALL_TRIES_NANOS = 60_000_000_000L;
  private static final long FIRST_WAIT_MILLISECONDS = 200;
  private static final long LONGEST_WAIT_MILLISECONDS = 10_000;
  private static final int MAX_ERROR_BYTES = 64 << 10;
  private static final int MAX_SHOWN_ERROR = 200; // of what the other end says, which may be anything

  /** Codes of the Connect protocol, by gRPC's numbers. */
  private static final List<String> CODES =
      Arrays.asList(
          "",
          "canceled",
          "unknown",
          "invalid_argument",
          "deadline_exceeded",
          "not_found",
          "already_exists",
          "permission_denied",
          "resource_exhausted",
          "failed_precondition",
          "aborted",
          "out_of_range",
          "unimplemented",
          "internal",
          "unavailable",
          "data_loss",
          "unauthenticated");

  private final String address;
  private final @Nullable SSLSocketFactory sockets;
  private @Nullable String curatorToken;
  private @Nullable String relayToken;

  private HttpCarrier(String address, @Nullable SSLSocketFactory sockets) {
    this.address = Objects.requireNonNull(address);
    this.sockets = sockets;
  }

  /** To HOST:PORT of a curator, whose certificate this machine's authorities signed. Never use it for a relay. */
  public static HttpCarrier to(String address) {
    return new HttpCarrier(address, null);
  }

  /**
   * To HOST:PORT of a curator or a relay, whose certificate one of these authorities signed, and no other.
   *
   * @param authorities certificates, PEM
   */
  public static HttpCarrier to(String address, byte[] authorities) throws GeneralSecurityException, IOException {
    return new HttpCarrier(address, trusting(authorities));
  }

  /** To HOST:PORT by sockets of your own, such as with a client certificate. */
  public static HttpCarrier to(String address, SSLSocketFactory sockets) {
    return new HttpCarrier(address, Objects.requireNonNull(sockets));
  }

  /** The token that the curator's operator gave this device, shown with every call. Not for a relay. */
  public HttpCarrier curatorToken(String token) {
    curatorToken = Objects.requireNonNull(token);
    return this;
  }

  /** The token that the relay's operator gave this device, shown where a ticket is taken, and nowhere else. */
  public HttpCarrier relayToken(String token) {
    relayToken = Objects.requireNonNull(token);
    return this;
  }

  @Override
  public byte[] carry(Call call) throws CarrierException, InterruptedException {
    long end = System.nanoTime() + ALL_TRIES_NANOS;
    long wait = FIRST_WAIT_MILLISECONDS;
    while (true) {
      try {
        return tryOnce(call);
      } catch (CarrierException failed) {
        boolean again =
            failed.code() == CarrierException.UNAVAILABLE || failed.code() == CarrierException.DEADLINE_EXCEEDED;
        if (!again || System.nanoTime() - end >= 0) {
          throw failed;
        }
      }
      // Random within the wait, so that devices that lost the curator together do not come back together. This is not
      // private, so any generator will do.
      Thread.sleep(wait / 2 + ThreadLocalRandom.current().nextLong(wait));
      wait = Math.min(2 * wait, LONGEST_WAIT_MILLISECONDS);
    }
  }

  private byte[] tryOnce(Call call) throws CarrierException {
    try {
      HttpURLConnection connection = (HttpURLConnection) new URL("https://" + address + call.method()).openConnection();
      if (sockets != null) {
        ((HttpsURLConnection) connection).setSSLSocketFactory(sockets);
      }
      byte[] request = call.request();
      connection.setInstanceFollowRedirects(false);
      connection.setConnectTimeout(TRY_MILLISECONDS);
      connection.setReadTimeout(TRY_MILLISECONDS);
      connection.setRequestMethod("POST");
      connection.setDoOutput(true);
      connection.setUseCaches(false);
      connection.setRequestProperty("Content-Type", "application/proto");
      connection.setRequestProperty("Accept-Encoding", "identity");
      String token = call.takesTicket() ? relayToken : curatorToken;
      if (token != null) {
        connection.setRequestProperty("Authorization", "Bearer " + token);
      }
      // Without it the connection sends a call a second time by itself, where a kept one was closed.
      connection.setFixedLengthStreamingMode(request.length);
      try (OutputStream out = connection.getOutputStream()) {
        out.write(request);
      }
      return answerOf(connection);
    } catch (IOException failed) {
      throw new CarrierException(CarrierException.UNAVAILABLE, "the other end cannot be reached", failed);
    }
  }

  private static byte[] answerOf(HttpURLConnection connection) throws IOException, CarrierException {
    int status = connection.getResponseCode();
    if (status == 200) {
      try (InputStream in = connection.getInputStream()) {
        return read(in, Native.maxResponseBytes());
      }
    }
    byte[] body;
    try (InputStream in = connection.getErrorStream()) {
      body = in == null ? new byte[0] : read(in, MAX_ERROR_BYTES);
    }
    String text = new String(body, StandardCharsets.UTF_8);
    String shown = text.substring(0, Math.min(text.length(), MAX_SHOWN_ERROR)).replaceAll("\\p{C}", "?");
    throw new CarrierException(codeOf(text), "HTTP " + status + " " + shown);
  }

  private static byte[] read(InputStream in, int most) throws IOException, CarrierException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    byte[] part = new byte[8192];
    for (int size = in.read(part); size >= 0; size = in.read(part)) {
      if (size > most - all.size()) {
        throw new CarrierException(CarrierException.RESOURCE_EXHAUSTED, "the answer is too long");
      }
      all.write(part, 0, size);
    }
    return all.toByteArray();
  }

  /** The code in an error's body, {"code":"not_found","message":"..."}; a proxy sends none. */
  private static int codeOf(String body) {
    String before = "\"code\":\"";
    int begin = body.indexOf(before);
    if (begin < 0) {
      return CarrierException.UNAVAILABLE;
    }
    begin += before.length();
    int end = body.indexOf('"', begin);
    int code = end < 0 ? -1 : CODES.indexOf(body.substring(begin, end));
    return code < 1 ? CarrierException.UNKNOWN : code;
  }

  private static SSLSocketFactory trusting(byte[] authorities) throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    int number = 0;
    for (Certificate authority :
        CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(authorities))) {
      store.setCertificateEntry("authority-" + number++, authority);
    }
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context.getSocketFactory();
  }
}
