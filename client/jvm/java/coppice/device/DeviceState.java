package coppice.device;

import java.util.OptionalLong;

/** What a device has spent, what is left, and what waits. */
public final class DeviceState {
  private final long answers;
  private final long waiting;
  private final long spentEpsilonNanos;
  private final long leftEpsilonNanos;
  private final long journalBytes;
  private final boolean optedOut;

  /** For the native half. */
  DeviceState(
      long answers, long waiting, long spentEpsilonNanos, long leftEpsilonNanos, long journalBytes, boolean optedOut) {
    this.answers = answers;
    this.waiting = waiting;
    this.spentEpsilonNanos = spentEpsilonNanos;
    this.leftEpsilonNanos = leftEpsilonNanos;
    this.journalBytes = journalBytes;
    this.optedOut = optedOut;
  }

  /** Of this device's subject. */
  public long answers() {
    return answers;
  }

  /** Answers that wait for delivery, of all subjects of the journal. */
  public long waiting() {
    return waiting;
  }

  /** By this subject's answers together, in billionths. */
  public long spentEpsilonNanos() {
    return spentEpsilonNanos;
  }

  /** What is left of the total, in billionths; empty if the device has no such limit. */
  public OptionalLong leftEpsilonNanos() {
    return leftEpsilonNanos == -1 ? OptionalLong.empty() : OptionalLong.of(leftEpsilonNanos);
  }

  public long journalBytes() {
    return journalBytes;
  }

  public boolean optedOut() {
    return optedOut;
  }
}
