package coppice.device;

import java.nio.charset.StandardCharsets;

/**
 * What the library refuses or cannot do, in words that say what to do. No message has a value of the row.
 *
 * <p>Each code of the C interface has a subclass, so that a program can catch what it can handle.
 */
public class CoppiceException extends Exception {
  private static final long serialVersionUID = 1;

  /** The caller's mistake. */
  public static final class InvalidArgument extends CoppiceException {
    private static final long serialVersionUID = 1;

    InvalidArgument(String message) {
      super(3, message);
    }
  }

  /** The journal has no such study. */
  public static final class NotFound extends CoppiceException {
    private static final long serialVersionUID = 1;

    NotFound(String message) {
      super(5, message);
    }
  }

  /** The study was answered before. */
  public static final class AlreadyAnswered extends CoppiceException {
    private static final long serialVersionUID = 1;

    AlreadyAnswered(String message) {
      super(6, message);
    }
  }

  /** No room in the journal, on the disk or in memory. */
  public static final class ResourceExhausted extends CoppiceException {
    private static final long serialVersionUID = 1;

    ResourceExhausted(String message) {
      super(8, message);
    }
  }

  /** Declined: by the owner, by the policy, or for want of trust. */
  public static final class Declined extends CoppiceException {
    private static final long serialVersionUID = 1;

    Declined(String message) {
      super(9, message);
    }
  }

  /** Try again: the journal is in use or its file fails, there is no randomness, or the network failed. */
  public static final class Unavailable extends CoppiceException {
    private static final long serialVersionUID = 1;

    Unavailable(String message) {
      super(14, message);
    }
  }

  /** Bytes that are not what they claim to be. */
  public static final class DataLoss extends CoppiceException {
    private static final long serialVersionUID = 1;

    DataLoss(String message) {
      super(15, message);
    }
  }

  private final int code;

  CoppiceException(int code, String message) {
    super(message);
    this.code = code;
  }

  /** The code, by gRPC's numbers. */
  public final int code() {
    return code;
  }

  /** The exception of a code that is not 0. */
  static CoppiceException of(int code, byte[] utf8) {
    String text = new String(utf8, StandardCharsets.UTF_8);
    switch (code) {
      case 3:
        return new InvalidArgument(text);
      case 5:
        return new NotFound(text);
      case 6:
        return new AlreadyAnswered(text);
      case 8:
        return new ResourceExhausted(text);
      case 9:
        return new Declined(text);
      case 14:
        return new Unavailable(text);
      case 15:
        return new DataLoss(text);
      default:
        return new CoppiceException(code, text);
    }
  }
}
