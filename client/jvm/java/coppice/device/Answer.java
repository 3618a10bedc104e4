package coppice.device;

import java.util.Base64;
import java.util.List;
import java.util.Optional;

/** An answer that this device gave, for showing its owner what was spent on what. */
public final class Answer {
  private final String study;
  private final long epsilonNanos;
  private final boolean delivered;
  private final boolean sealed;
  private final @Nullable byte[] payload;
  private final @Nullable byte[] curatorKey;

  private Answer(
      String study,
      long epsilonNanos,
      boolean delivered,
      boolean sealed,
      @Nullable byte[] payload,
      @Nullable byte[] curatorKey) {
    this.study = study;
    this.epsilonNanos = epsilonNanos;
    this.delivered = delivered;
    this.sealed = sealed;
    this.payload = payload;
    this.curatorKey = curatorKey;
  }

  /** For the native half. */
  static void add(
      List<Answer> into,
      byte[] study,
      long epsilonNanos,
      boolean delivered,
      boolean sealed,
      @Nullable byte[] payload,
      @Nullable byte[] curatorKey) {
    into.add(new Answer(Text.of(study), epsilonNanos, delivered, sealed, payload, curatorKey));
  }

  public String study() {
    return study;
  }

  /** What it cost, in billionths. */
  public long epsilonNanos() {
    return epsilonNanos;
  }

  /** To whom: the key that trust in the curator began with, "ed25519:..."; empty if the journal does not know it. */
  public Optional<String> curator() {
    return Optional.ofNullable(curatorKey).map(key -> "ed25519:" + Base64.getEncoder().encodeToString(key));
  }

  /** Whether it is final: counted, refused for good, given up, or past the end of its deal. */
  public boolean delivered() {
    return delivered;
  }

  /** Whether the payload is sealed, so that the curator alone can read it. */
  public boolean sealed() {
    return sealed;
  }

  /** What will be sent, randomized; empty once the answer is final, because nothing of it is kept. */
  public Optional<byte[]> payload() {
    return payload == null ? Optional.empty() : Optional.of(payload.clone());
  }
}
