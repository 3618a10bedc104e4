package coppice.device;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * What the owner of a device agrees to, before any row is read. Whatever is not set is as the C interface has it, which
 * caps all of it and requires a pinned key (coppice_device_options_init() in coppice_device.h).
 */
public final class DeviceOptions {
  final String journal;
  final long[] limits = new long[Native.NUM_LIMITS];
  final List<String> allowedInClear = new ArrayList<>();
  final List<String> joinIds = new ArrayList<>();
  final List<OwnColumn> ownColumns = new ArrayList<>();
  @Nullable String subject;
  @Nullable byte[] curatorKey;
  @Nullable byte[] relayKey;
  boolean requirePin = true;

  /** `journal` is a file that only this device uses; it is made if there is none. */
  public DeviceOptions(String journal) {
    this.journal = Objects.requireNonNull(journal);
    Arrays.fill(limits, -1);
  }

  /** The curator's public key, as people hand it around: "ed25519:..." or PEM. */
  public DeviceOptions curatorKey(String key) throws CoppiceException {
    curatorKey = Native.parseKey(Text.toC(key));
    return this;
  }

  /** The relay's public key, from a source that the curator does not control. */
  public DeviceOptions relayKey(String key) throws CoppiceException {
    relayKey = Native.parseKey(Text.toC(key));
    return this;
  }

  /** Trusts the first curator's key that is seen, where none is pinned. */
  public DeviceOptions trustFirstKey() {
    requirePin = false;
    return this;
  }

  /** Whose row it is; "this device" unless a gateway speaks for many. */
  public DeviceOptions subject(String name) {
    subject = Objects.requireNonNull(name);
    return this;
  }

  /** Per report, in billionths; a study that asks for more is declined. */
  public DeviceOptions maxEpsilonNanos(long nanos) {
    return limit(Native.MAX_EPSILON, nanos);
  }

  /** Of all reports together, in billionths; 0: no limit. */
  public DeviceOptions maxTotalEpsilonNanos(long nanos) {
    return limit(Native.MAX_TOTAL_EPSILON, nanos);
  }

  /** Per report that goes to the curator itself, in billionths: above it only through a relay. */
  public DeviceOptions maxEpsilonDirectNanos(long nanos) {
    return limit(Native.MAX_EPSILON_DIRECT, nanos);
  }

  /** Reports that wait for delivery; 0: no limit. */
  public DeviceOptions maxWaiting(long reports) {
    return limit(Native.MAX_WAITING, reports);
  }

  /** 0: no limit. */
  public DeviceOptions maxJournalBytes(long bytes) {
    return limit(Native.MAX_JOURNAL_BYTES, bytes);
  }

  /** Fewest reports that a model may be built from. */
  public DeviceOptions minReports(long reports) {
    return limit(Native.MIN_REPORTS, reports);
  }

  /** Fewest reports among which a relay's curator finds the answer. */
  public DeviceOptions minBatch(long reports) {
    return limit(Native.MIN_BATCH, reports);
  }

  /** The longest offer that there is room for, at most 16 MiB. */
  public DeviceOptions maxOfferBytes(long bytes) {
    return limit(Native.MAX_OFFER_BYTES, bytes);
  }

  /** Through a relay an answer is sent at a random time, at most this long after its ticket came. */
  public DeviceOptions maxSendDelaySeconds(long seconds) {
    return limit(Native.MAX_SEND_DELAY_SECONDS, seconds);
  }

  /** A feature that may be sent in the clear where a study marks it as public. */
  public DeviceOptions allowInClear(String feature) {
    allowedInClear.add(Objects.requireNonNull(feature));
    return this;
  }

  /** An id by which studies may join. A report shows it as the row has it: never name a feature here. */
  public DeviceOptions joinId(String name) {
    joinIds.add(Objects.requireNonNull(name));
    return this;
  }

  /** What the device's own rows look like, the label among them. A study that disagrees is declined. */
  public DeviceOptions ownColumns(List<OwnColumn> columns) {
    ownColumns.addAll(columns);
    return this;
  }

  private DeviceOptions limit(int which, long value) {
    if (value < 0) {
      throw new IllegalArgumentException("a limit is at least 0");
    }
    limits[which] = value;
    return this;
  }
}
