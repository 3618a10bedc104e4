package coppice.device;

import java.util.Collections;
import java.util.Objects;

/**
 * A visit to a curator or a relay, a call at a time, for programs with a loop of their own: what {@link #next()} returns
 * is carried, and its response given to {@link #take}, or its failure to {@link #fail}.
 *
 * <p>Close it at any time: what is in the journal is sent by a later visit. After that, or after its device is closed,
 * every call is an IllegalStateException, and closing again does nothing.
 */
public final class Visit implements AutoCloseable {
  private final Device device; // its lock guards what follows
  private final VisitOptions options;
  private long handle; // 0 once it is closed
  private @Nullable Terms terms;
  private @Nullable Throwable callbackError;

  Visit(Device device, long handle, VisitOptions options) {
    this.device = device;
    this.handle = handle;
    this.options = options;
  }

  /**
   * What to carry next; null if the visit is over. The same again until it was taken or failed. If the call has a wait,
   * sleep that long and ask again.
   */
  public @Nullable Call next() throws CoppiceException {
    synchronized (device) {
      return Native.next(open(), this);
    }
  }

  /** Takes the response to the last call. An exception is about this step alone, and the visit goes on. */
  public void take(byte[] response) throws CoppiceException {
    synchronized (device) {
      Native.take(open(), this, Objects.requireNonNull(response));
    }
  }

  /** Says that the last call failed, by a code of gRPC's that is not 0. */
  public void fail(int code) throws CoppiceException {
    synchronized (device) {
      Native.fail(open(), this, code);
    }
  }

  public Outcome outcome() {
    synchronized (device) {
      Outcome outcome = Native.outcome(open());
      outcome.add(callbackError, Collections.emptyList());
      return outcome;
    }
  }

  @Override
  public void close() {
    synchronized (device) {
      if (handle == 0) {
        return;
      }
      device.checkNoCallback();
      Native.closeVisit(handle);
      handle = 0;
      device.forget(this);
    }
  }

  @Nullable Throwable callbackError() {
    synchronized (device) {
      return callbackError;
    }
  }

  /** For the native half: declines if the reviewer throws. */
  boolean onReview(long asked) {
    device.setInCallback(true);
    try {
      terms = Terms.copyOf(asked);
      return options.reviewer.agrees(terms);
    } catch (Throwable thrown) {
      callbackError = thrown;
      return false;
    } finally {
      device.setInCallback(false);
    }
  }

  /** For the native half: what was set counts if the reader throws, since silence would tell whose row throws. */
  void onReadRow(long address) {
    device.setInCallback(true);
    Row row = null;
    try {
      row = new Row(address);
      options.reader.read(terms, row);
    } catch (Throwable thrown) {
      callbackError = thrown;
    } finally {
      if (row != null) {
        row.end();
      }
      device.setInCallback(false);
    }
  }

  private long open() {
    device.checkNoCallback();
    if (handle == 0) {
      throw new IllegalStateException("the visit is closed");
    }
    return handle;
  }
}
