package coppice.device;

import java.util.Objects;

/** Where a visit goes, which study it answers, and how. */
public final class VisitOptions {
  final @Nullable String curator;
  final @Nullable String relay;
  @Nullable String study;
  @Nullable byte[] submissionToken;
  @Nullable RowReader reader;
  Reviewer reviewer = terms -> true;

  private VisitOptions(@Nullable String curator, @Nullable String relay) {
    this.curator = curator;
    this.relay = relay;
  }

  /** HOST:PORT of the curator; the journal knows it by that and its key. Delivers what waits. */
  public static VisitOptions toCurator(String address) {
    return new VisitOptions(Objects.requireNonNull(address), null);
  }

  /** HOST:PORT of the relay. Delivers what waits for it. */
  public static VisitOptions toRelay(String address) {
    return new VisitOptions(null, Objects.requireNonNull(address));
  }

  /** Answers this study besides. */
  public VisitOptions answer(String id, RowReader read) {
    study = Objects.requireNonNull(id);
    reader = Objects.requireNonNull(read);
    return this;
  }

  /** Asks the owner before the row is read. */
  public VisitOptions review(Reviewer asks) {
    reviewer = Objects.requireNonNull(asks);
    return this;
  }

  /** 32 bytes, where the study asks for one; never in a visit to a relay. */
  public VisitOptions submissionToken(byte[] token) {
    if (token.length != 32) {
      throw new IllegalArgumentException("a submission token has 32 bytes");
    }
    submissionToken = token.clone();
    return this;
  }
}
