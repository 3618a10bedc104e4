import coppice.device.Answer;
import coppice.device.Device;
import coppice.device.DeviceOptions;
import coppice.device.DeviceState;
import coppice.device.HttpCarrier;
import coppice.device.Outcome;
import coppice.device.VisitOptions;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;

/**
 * A device that answers a survey once, delivers what waits, and shows its owner what that cost.
 *
 * <pre>SurveyDevice CURATOR_KEY HOST:PORT CA_FILE STUDY JOURNAL [history | opt-out | opt-in]</pre>
 *
 * <p>CURATOR_KEY is a file, what `coppice study key --pem` prints; HOST:PORT is the curator's --http-listen. With RELAY_KEY
 * in the environment, the name of a file with a relay's key, HOST:PORT is that of the relay and CA_FILE what its operator
 * names; RELAY_TOKEN is a token of the relay's, where it asks for one. SurveyRow is what `coppice schema generate` writes.
 *
 * <p>A template: take it, put your row and your transport in, and keep the caps.
 */
public final class SurveyDevice {
  private static final long NANOS = 1_000_000_000L;

  private SurveyDevice() {}

  // sample: a row in Java
  /** The private row: replace this by what your device knows. It never leaves this program. */
  private static SurveyRow readRow() {
    SurveyRow row = new SurveyRow();
    row.age = 41.0;
    row.shift = SurveyRow.Shift.NIGHT;
    row.sleepsBadly = SurveyRow.SleepsBadly.YES;
    return row;
  }
  // end of sample

  public static void main(String[] arguments) throws Exception {
    if (arguments.length < 5) {
      System.err.println(
          "usage: SurveyDevice CURATOR_KEY HOST:PORT CA_FILE STUDY JOURNAL [history | opt-out | opt-in]");
      System.exit(2);
    }
    String relayKey = System.getenv("RELAY_KEY");
    DeviceOptions options =
        new DeviceOptions(arguments[4])
            .curatorKey(read(arguments[0]))
            .ownColumns(SurveyRow.ownColumns()) // a study whose schema has changed is declined
            .maxEpsilonNanos(4 * NANOS)
            .maxTotalEpsilonNanos(8 * NANOS);
    if (relayKey != null) {
      options.relayKey(read(relayKey)).maxSendDelaySeconds(Long.getLong("delay", 60));
    }
    try (Device device = Device.open(options)) {
      String what = arguments.length > 5 ? arguments[5] : "answer";
      if (what.startsWith("opt-")) {
        device.optOut(what.equals("opt-out"));
      } else if (what.equals("answer")) {
        visit(device, arguments, relayKey != null);
      }
      show(device);
    }
  }

  private static void visit(Device device, String[] arguments, boolean isRelay) throws Exception {
    // sample: a visit in Java
    HttpCarrier carrier = HttpCarrier.to(arguments[1], Files.readAllBytes(Paths.get(arguments[2])));
    String relayToken = System.getenv("RELAY_TOKEN");
    if (isRelay && relayToken != null) {
      carrier.relayToken(relayToken);
    }
    VisitOptions visit =
        (isRelay ? VisitOptions.toRelay(arguments[1]) : VisitOptions.toCurator(arguments[1]))
            // Ask the owner here, if the owner wants to be asked. The result must not depend on the row.
            .review(
                terms -> {
                  System.out.printf("%s asks at epsilon %s%n", terms.study(), epsilon(terms.epsilonNanos()));
                  return true;
                })
            .answer(arguments[3], (terms, row) -> row.set(readRow().toMap()));
    Outcome outcome = device.visit(visit, carrier);
    // end of sample
    outcome.errors().forEach(error -> System.err.println(error.getMessage()));
    outcome.noAnswer().ifPresent(reason -> System.err.println(reason.getMessage()));
    outcome.loss().ifPresent(reason -> System.err.println("lost: " + reason.getMessage()));
    System.out.printf("%d delivered%n", outcome.delivered());
  }

  // sample: the owner's view in Java
  private static void show(Device device) throws Exception {
    for (Answer answer : device.history()) {
      String state = answer.delivered() ? "delivered" : "waits";
      System.out.printf("answered %s at epsilon %s: %s%n", answer.study(), epsilon(answer.epsilonNanos()), state);
    }
    DeviceState state = device.state();
    String left = state.leftEpsilonNanos().isPresent() ? epsilon(state.leftEpsilonNanos().getAsLong()) : "no limit";
    System.out.printf("epsilon %s spent, %s left%n", epsilon(state.spentEpsilonNanos()), left);
    if (state.optedOut()) {
      System.out.println("opted out: nothing is asked or sent");
    }
  }
  // end of sample

  private static String epsilon(long nanos) {
    return java.math.BigDecimal.valueOf(nanos, 9).stripTrailingZeros().toPlainString();
  }

  private static String read(String file) throws java.io.IOException {
    return new String(Files.readAllBytes(Paths.get(file)), StandardCharsets.UTF_8);
  }
}
