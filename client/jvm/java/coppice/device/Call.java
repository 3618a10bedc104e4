package coppice.device;

/** A call to carry to the curator or the relay. */
public final class Call {
  private final String method;
  private final byte[] request;
  private final long waitMilliseconds;
  private final boolean takesTicket;

  private Call(String method, byte[] request, long waitMilliseconds, boolean takesTicket) {
    this.method = method;
    this.request = request;
    this.waitMilliseconds = waitMilliseconds;
    this.takesTicket = takesTicket;
  }

  /** For the native half. */
  static Call of(byte[] method, byte[] request, long waitMilliseconds, boolean takesTicket) {
    return new Call(Text.of(method), request, waitMilliseconds, takesTicket);
  }

  /** The path, such as "/coppice.v1.StudyService/GetOffer". */
  public String method() {
    return method;
  }

  /** A serialized message. */
  public byte[] request() {
    return request.clone();
  }

  /** How long to wait from now before the call is carried; then ask {@link Visit#next()} again. 0: not at all. */
  public long waitMilliseconds() {
    return waitMilliseconds;
  }

  /** Whether this is the one call with which a relay's token is shown. */
  public boolean takesTicket() {
    return takesTicket;
  }
}
