package coppice.device;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/** How a visit went so far. */
public final class Outcome {
  private final @Nullable CoppiceException noAnswer;
  private final boolean answeredNow;
  private final long delivered;
  private final long refused;
  private final long unknown;
  private final long ofOthers;
  private final long clockBehindSeconds;
  private final @Nullable CoppiceException loss;
  private @Nullable Throwable callbackError;
  private List<Exception> errors = Collections.emptyList();

  private Outcome(
      @Nullable CoppiceException noAnswer,
      boolean answeredNow,
      long delivered,
      long refused,
      long unknown,
      long ofOthers,
      long clockBehindSeconds,
      @Nullable CoppiceException loss) {
    this.noAnswer = noAnswer;
    this.answeredNow = answeredNow;
    this.delivered = delivered;
    this.refused = refused;
    this.unknown = unknown;
    this.ofOthers = ofOthers;
    this.clockBehindSeconds = clockBehindSeconds;
    this.loss = loss;
  }

  /** For the native half. */
  static Outcome of(
      int answerCode,
      byte[] answerText,
      boolean answeredNow,
      long delivered,
      long refused,
      long unknown,
      long ofOthers,
      long clockBehindSeconds,
      int lossCode,
      byte[] lossText) {
    return new Outcome(
        answerCode == 0 ? null : CoppiceException.of(answerCode, answerText),
        answeredNow,
        delivered,
        refused,
        unknown,
        ofOthers,
        clockBehindSeconds,
        lossCode == 0 ? null : CoppiceException.of(lossCode, lossText));
  }

  void add(@Nullable Throwable fromCallback, List<Exception> fromSteps) {
    callbackError = fromCallback;
    errors = Collections.unmodifiableList(new ArrayList<>(fromSteps));
  }

  /** Whether the journal has an answer to the study, from now or before, or none was asked for. */
  public boolean isAnswered() {
    return noAnswer == null;
  }

  /** Why there is no answer. */
  public Optional<CoppiceException> noAnswer() {
    return Optional.ofNullable(noAnswer);
  }

  /** Whether the answer was made in this visit. */
  public boolean answeredNow() {
    return answeredNow;
  }

  /** Answers that the curator has counted, now or before; of a relay: that are on its disk. */
  public long delivered() {
    return delivered;
  }

  /** Answers that were refused, or behind a relay lost, for good. What they cost stays spent. */
  public long refused() {
    return refused;
  }

  /** Answers to studies that the curator does not know; they wait on. */
  public long unknown() {
    return unknown;
  }

  /** Answers that wait for another curator or relay. */
  public long ofOthers() {
    return ofOthers;
  }

  /** By how much this device's clock is behind what the curator signed, if that is more than a day; else 0. */
  public long clockBehindSeconds() {
    return clockBehindSeconds;
  }

  /** Why the last answer was lost behind a relay. */
  public Optional<CoppiceException> loss() {
    return Optional.ofNullable(loss);
  }

  /**
   * What the reader of the row or the reviewer threw. A reader's exception stops no report: that would tell whose row
   * makes it throw. So keep it on the device, and send it nowhere.
   */
  public Optional<Throwable> callbackError() {
    return Optional.ofNullable(callbackError);
  }

  /** What went wrong with single steps of {@link Device#visit}, such as a call that failed. */
  public List<Exception> errors() {
    return errors;
  }
}
