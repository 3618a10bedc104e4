package coppice.device;

import java.util.ArrayList;
import java.util.List;

/**
 * A device: one private row, one randomized report per study.
 *
 * <p>At most one report per subject and study leaves it, epsilon-LDP for the study's epsilon. A report is in the
 * journal, on disk, before anybody can see it, and the same bytes are sent at every try.
 *
 * <p>Close it: until then its journal is locked. Any thread may use it; calls wait for each other, but not while a visit's
 * call is on the network. After it is closed every call is an IllegalStateException, and closing again does nothing.
 */
public final class Device implements AutoCloseable {
  private long handle; // 0 once it is closed
  private @Nullable Visit visit;
  private boolean inCallback;

  private Device(long handle) {
    this.handle = handle;
  }

  /**
   * Opens the journal.
   *
   * @throws CoppiceException.Unavailable if the file cannot be opened, or another process or device has it
   * @throws CoppiceException.DataLoss if it is corrupt
   */
  public static Device open(DeviceOptions options) throws CoppiceException {
    int columns = options.ownColumns.size();
    int[] kinds = new int[2 * columns];
    double[] numbers = new double[2 * columns];
    byte[][] units = new byte[columns][];
    byte[][][] values = new byte[columns][][];
    List<String> names = new ArrayList<>();
    for (int i = 0; i < columns; ++i) {
      OwnColumn column = options.ownColumns.get(i);
      names.add(column.name);
      kinds[2 * i] = column.kind;
      kinds[2 * i + 1] = column.isWhole ? 1 : 0;
      numbers[2 * i] = column.min;
      numbers[2 * i + 1] = column.max;
      units[i] = Text.toC(column.unit);
      values[i] = Text.toC(column.values);
    }
    return new Device(
        Native.openDevice(
            Text.toC(options.journal),
            Text.toCOrNull(options.subject),
            options.limits,
            options.requirePin,
            options.curatorKey,
            options.relayKey,
            Text.toC(options.allowedInClear),
            Text.toC(options.joinIds),
            Text.toC(names),
            kinds,
            numbers,
            units,
            values));
  }

  /** The version of the native library. */
  public static String version() {
    return Text.of(Native.version());
  }

  /** What was spent, and what is left. */
  public synchronized DeviceState state() throws CoppiceException {
    return Native.state(open());
  }

  /** The answers of this subject, oldest first. */
  public synchronized List<Answer> history() throws CoppiceException {
    List<Answer> answers = new ArrayList<>();
    Native.history(open(), answers);
    return answers;
  }

  /**
   * The owner's word, which outlives the process. An owner who opted out is not asked again, and nothing that waits is
   * sent: visits are refused, and one that is open ends at its next step.
   */
  public synchronized void optOut(boolean optedOut) throws CoppiceException {
    Native.optOut(open(), optedOut);
  }

  /** Ends the waiting of the answer to a study, for curators that are gone. What it cost stays spent. */
  public synchronized void giveUp(String study) throws CoppiceException {
    Native.giveUp(open(), Text.toC(study));
  }

  /** Begins a visit, of which a device has one at a time. Most programs call {@link #visit} instead. */
  public synchronized Visit openVisit(VisitOptions options) throws CoppiceException {
    long opened =
        Native.openVisit(
            open(),
            Text.toCOrNull(options.curator),
            Text.toCOrNull(options.relay),
            Text.toCOrNull(options.study),
            options.submissionToken);
    visit = new Visit(this, opened, options);
    return visit;
  }

  /**
   * Makes a whole visit: answers the study, if the options name one, and delivers what waits. What goes wrong with one
   * step is in {@link Outcome#errors()}, and the visit goes on. Behind a relay it sleeps before it sends.
   *
   * @throws CoppiceException if the journal or the random source fails, or the owner has opted out
   */
  public Outcome visit(VisitOptions options, Carrier carrier) throws CoppiceException, InterruptedException {
    List<Exception> errors = new ArrayList<>();
    try (Visit going = openVisit(options)) {
      for (Call call = going.next(); call != null; call = going.next()) {
        if (call.waitMilliseconds() > 0) {
          Thread.sleep(call.waitMilliseconds());
        } else {
          carry(going, call, carrier, errors);
        }
      }
      Outcome outcome = going.outcome();
      outcome.add(going.callbackError(), errors);
      return outcome;
    }
  }

  private static void carry(Visit going, Call call, Carrier carrier, List<Exception> errors)
      throws CoppiceException, InterruptedException {
    byte[] response;
    try {
      response = carrier.carry(call);
    } catch (CarrierException failed) {
      errors.add(failed);
      going.fail(failed.code());
      return;
    }
    try {
      going.take(response);
    } catch (CoppiceException refused) {
      errors.add(refused); // about this step alone: next() says whether the visit is over
    }
  }

  /** Closes a visit that is open, too. */
  @Override
  public synchronized void close() {
    if (handle == 0) {
      return;
    }
    checkNoCallback();
    if (visit != null) {
      visit.close();
    }
    Native.closeDevice(handle);
    handle = 0;
  }

  private long open() {
    checkNoCallback();
    if (handle == 0) {
      throw new IllegalStateException("the device is closed");
    }
    return handle;
  }

  void checkNoCallback() {
    if (inCallback) {
      throw new IllegalStateException("the device is used from one of a visit's callbacks; return from that first");
    }
  }

  void setInCallback(boolean runs) {
    inCallback = runs;
  }

  void forget(Visit closed) {
    if (visit == closed) {
      visit = null;
    }
  }
}
