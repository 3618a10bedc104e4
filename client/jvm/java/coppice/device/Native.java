package coppice.device;

import java.util.List;

/**
 * The functions of coppice_device.h, as the native half (client/jvm/native) registers them. Handles are addresses: those
 * who call see to it that each is open, and that one thread at a time uses a device.
 */
final class Native {
  static {
    String file = System.getProperty("coppice.device.library");
    if (file == null) {
      System.loadLibrary("coppice_jni");
    } else {
      System.load(file);
    }
  }

  private Native() {}

  /** How the limits of a device are passed; a negative one leaves the library's default. */
  static final int MAX_EPSILON = 0;
  static final int MAX_TOTAL_EPSILON = 1;
  static final int MAX_WAITING = 2;
  static final int MAX_JOURNAL_BYTES = 3;
  static final int MIN_REPORTS = 4;
  static final int MIN_BATCH = 5;
  static final int MAX_OFFER_BYTES = 6;
  static final int MAX_SEND_DELAY_SECONDS = 7;
  static final int MAX_EPSILON_DIRECT = 8;
  static final int NUM_LIMITS = 9;

  static native byte[] version();

  static native int maxResponseBytes();

  static native byte[] parseKey(byte[] text) throws CoppiceException;

  /** `ownNumbers` has min and max of each column, `ownKinds` its kind and whether it is whole. */
  static native long openDevice(
      byte[] journal,
      @Nullable byte[] subject,
      long[] limits,
      boolean requirePin,
      @Nullable byte[] curatorKey,
      @Nullable byte[] relayKey,
      byte[][] allowedInClear,
      byte[][] joinIds,
      byte[][] ownNames,
      int[] ownKinds,
      double[] ownNumbers,
      byte[][] ownUnits,
      byte[][][] ownValues)
      throws CoppiceException;

  static native void closeDevice(long device);

  static native void optOut(long device, boolean optedOut) throws CoppiceException;

  static native DeviceState state(long device) throws CoppiceException;

  static native void history(long device, List<Answer> into) throws CoppiceException;

  static native void giveUp(long device, byte[] study) throws CoppiceException;

  static native long openVisit(
      long device,
      @Nullable byte[] curator,
      @Nullable byte[] relay,
      @Nullable byte[] study,
      @Nullable byte[] submissionToken)
      throws CoppiceException;

  static native void closeVisit(long visit);

  /** The visit's callbacks run in `self`, while the function runs. Null: the visit is over. */
  static native @Nullable Call next(long visit, Visit self) throws CoppiceException;

  static native void take(long visit, Visit self, byte[] response) throws CoppiceException;

  static native void fail(long visit, Visit self, int code) throws CoppiceException;

  static native Outcome outcome(long visit);

  static native byte[] termsStudy(long terms);

  static native long termsEpsilonNanos(long terms);

  static native byte[] termsMechanism(long terms);

  static native int numColumns(long terms);

  /** Returns the name; fills min and max, and kind, is_public and the number of values. */
  static native byte[] column(long terms, int column, double[] bounds, int[] facts);

  static native byte[] value(long terms, int column, int value);

  static native void setText(long row, byte[] column, byte[] text);

  static native void setNumber(long row, byte[] column, double number);
}
