package coppice.device;

/** A call that failed, by a code of gRPC's. */
public final class CarrierException extends Exception {
  private static final long serialVersionUID = 1;
  static final int UNKNOWN = 2;
  static final int DEADLINE_EXCEEDED = 4;
  static final int RESOURCE_EXHAUSTED = 8;
  static final int UNAVAILABLE = 14;

  private final int code;

  public CarrierException(int code, String message) {
    super(message);
    this.code = code;
  }

  public CarrierException(int code, String message, Throwable cause) {
    super(message, cause);
    this.code = code;
  }

  /** From 1 to 16. */
  public int code() {
    return code;
  }
}
