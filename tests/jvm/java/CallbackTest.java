import coppice.device.Answer;
import coppice.device.Column;
import coppice.device.CoppiceException;
import coppice.device.Device;
import coppice.device.DeviceOptions;
import coppice.device.HttpCarrier;
import coppice.device.Outcome;
import coppice.device.Row;
import coppice.device.RowReader;
import coppice.device.Terms;
import coppice.device.VisitOptions;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Base64;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;

/**
 * What a program may do wrong while it is asked, with a real curator: each device answers or declines as it should.
 *
 * <pre>CallbackTest FOLDER CURATOR_KEY HOST:PORT CA_FILE STUDY</pre>
 */
public final class CallbackTest {
  private static final String PLANTED = "planted-93b1";
  private static String[] arguments;

  private CallbackTest() {}

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }

  private static Device open(String journal) throws Exception {
    String key = new String(Files.readAllBytes(Paths.get(arguments[1])), StandardCharsets.UTF_8);
    return Device.open(new DeviceOptions(Paths.get(arguments[0], journal).toString()).curatorKey(key));
  }

  /** What `coppice study key --pem` printed, as a pin: a key's last 32 bytes are the key itself. */
  private static String pin() throws Exception {
    String pem = new String(Files.readAllBytes(Paths.get(arguments[1])), StandardCharsets.UTF_8);
    byte[] bytes = Base64.getMimeDecoder().decode(pem.replaceAll("-----[^-]*-----", ""));
    return "ed25519:" + Base64.getEncoder().encodeToString(Arrays.copyOfRange(bytes, bytes.length - 32, bytes.length));
  }

  private static HttpCarrier carrier() throws Exception {
    return HttpCarrier.to(arguments[2], Files.readAllBytes(Paths.get(arguments[3])));
  }

  private static VisitOptions visit(RowReader reader) {
    return VisitOptions.toCurator(arguments[2]).answer(arguments[4], reader);
  }

  private static Outcome answers(String journal, RowReader reader) throws Exception {
    try (Device device = open(journal)) {
      Outcome outcome = device.visit(visit(reader), carrier());
      check(outcome.isAnswered() && outcome.answeredNow() && outcome.delivered() == 1, journal + ": no answer");
      check(device.state().answers() == 1 && device.state().waiting() == 0, journal + ": the state");
      Answer answer = device.history().get(0);
      check(answer.study().equals(arguments[4]) && answer.delivered(), journal + ": the history");
      check(answer.curator().equals(Optional.of(pin())), journal + ": to whom");
      for (Exception error : outcome.errors()) {
        check(!String.valueOf(error.getMessage()).contains(PLANTED), "a private value in a message");
      }
      return outcome;
    }
  }

  private static void readersThatThrow() throws Exception {
    Outcome thrown =
        answers(
            "throws",
            (terms, row) -> {
              row.set("age", 41);
              throw new IllegalStateException("mine");
            });
    check(thrown.callbackError().get().getMessage().equals("mine"), "another exception");
    Outcome tooDeep =
        answers(
            "deep",
            new RowReader() {
              @Override
              public void read(Terms terms, Row row) throws Exception {
                read(terms, row);
              }
            });
    check(tooDeep.callbackError().get() instanceof StackOverflowError, "another error");
  }

  private static void valuesThatDoNotFit() throws Exception {
    AtomicReference<Row> kept = new AtomicReference<>();
    Outcome outcome =
        answers(
            "values",
            (terms, row) -> {
              kept.set(row);
              row.set("age", PLANTED);
              row.set("plan", PLANTED + "\0\uD83C\uDF33\uD800");
              row.set("no such column", PLANTED);
              row.set("left", Double.NaN);
            });
    check(!outcome.callbackError().isPresent(), outcome.callbackError().toString());
    try {
      kept.get().set("age", 1);
      check(false, "a row outlives its reader");
    } catch (IllegalStateException ended) {
      check(!ended.getMessage().contains(PLANTED), "a private value in a message");
    }
  }

  private static void devicesThatAreUsedFromWithin() throws Exception {
    try (Device device = open("within")) {
      Outcome outcome =
          device.visit(
              visit(
                  (terms, row) -> {
                    try {
                      device.close();
                      check(false, "closed from within");
                    } catch (IllegalStateException refused) {
                      device.state();
                    }
                  }),
              carrier());
      check(outcome.callbackError().get() instanceof IllegalStateException, outcome.callbackError().toString());
      check(outcome.delivered() == 1, "no answer");
    }
  }

  private static void reviewersThatDecline() throws Exception {
    try (Device device = open("review")) {
      AtomicReference<Terms> seen = new AtomicReference<>();
      VisitOptions options = visit((terms, row) -> check(false, "the row is read"));
      Outcome declined =
          device.visit(
              options.review(
                  terms -> {
                    seen.set(terms);
                    return false;
                  }),
              carrier());
      check(declined.noAnswer().get() instanceof CoppiceException.Declined, declined.noAnswer().toString());
      Column plan = seen.get().columns().get(1);
      check(plan.values().contains("gr\u00F6\u00DFer \uD83C\uDF33"), plan.values().toString());
      check(seen.get().epsilonNanos() == 1_000_000_000L && seen.get().columns().size() == 3, "the terms");
      Outcome thrown =
          device.visit(
              options.review(
                  terms -> {
                    throw new Exception("mine");
                  }),
              carrier());
      check(thrown.noAnswer().get() instanceof CoppiceException.Declined, thrown.noAnswer().toString());
      check(thrown.callbackError().get().getMessage().equals("mine"), "another exception");
      check(device.state().answers() == 0, "an answer");
    }
  }

  private static void ownersWhoOptOutMeanwhile() throws Exception {
    try (Device device = open("meanwhile")) {
      HttpCarrier carrier = carrier();
      Outcome ended =
          device.visit(
              visit((terms, row) -> row.set("age", 41)),
            call -> {
              byte[] response = carrier.carry(call);
              if (call.method().endsWith("/GetCuratorKeys")) {
                Thread owner =
                    new Thread(
                        () -> {
                          try {
                            device.optOut(true);
                          } catch (CoppiceException failed) {
                            throw new AssertionError(failed);
                          }
                        });
                owner.start();
                owner.join();
              }
              check(!call.method().endsWith("/SubmitReports"), "it is sent");
              return response;
            });
      check(ended.errors().get(0) instanceof CoppiceException.Declined, ended.errors().toString());
      check(ended.answeredNow() && ended.delivered() == 0 && device.state().waiting() == 1, "nothing waits");
      device.optOut(false);
      check(device.visit(VisitOptions.toCurator(arguments[2]), carrier).delivered() == 1, "it is lost");
    }
  }

  public static void main(String[] given) throws Exception {
    arguments = given;
    readersThatThrow();
    valuesThatDoNotFit();
    devicesThatAreUsedFromWithin();
    reviewersThatDecline();
    ownersWhoOptOutMeanwhile();
    System.out.println("5 answered");
  }
}
