import coppice.device.Call;
import coppice.device.CarrierException;
import coppice.device.CoppiceException;
import coppice.device.Device;
import coppice.device.DeviceOptions;
import coppice.device.Outcome;
import coppice.device.OwnColumn;
import coppice.device.Visit;
import coppice.device.VisitOptions;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.Callable;

/**
 * What the jar does without a curator: journals, handles, texts and errors.
 *
 * <pre>DeviceTest FOLDER JOURNALS</pre>
 *
 * JOURNALS has the files of tests/vectors/journal.json, each with the status of opening it as its extension.
 */
public final class DeviceTest {
  private static final String KEY = "ed25519:A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=";
  private static int failures;

  private final Path folder;

  private DeviceTest(Path folder) {
    this.folder = folder;
  }

  private interface Test {
    void run() throws Exception;
  }

  private static void run(String name, Test test) {
    try {
      test.run();
      System.out.println("passed " + name);
    } catch (Throwable failed) {
      ++failures;
      System.out.println("FAILED " + name);
      failed.printStackTrace(System.out);
    }
  }

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }

  private static <E extends Throwable> E thrown(Class<E> type, Callable<?> work) {
    try {
      work.call();
    } catch (Throwable thrown) {
      if (type.isInstance(thrown)) {
        return type.cast(thrown);
      }
      throw new AssertionError("another exception than " + type, thrown);
    }
    throw new AssertionError("no " + type);
  }

  private DeviceOptions options(String journal) throws CoppiceException {
    return new DeviceOptions(folder.resolve(journal).toString()).curatorKey(KEY);
  }

  private Device open(String journal) throws CoppiceException {
    return Device.open(options(journal));
  }

  private void ownersWordOutlivesTheDevice() throws Exception {
    try (Device device = open("word")) {
      check(!device.state().optedOut(), "opted out at first");
      device.optOut(true);
      CoppiceException refused =
          thrown(CoppiceException.Declined.class, () -> device.openVisit(VisitOptions.toCurator("localhost:1")));
      check(refused.code() == 9, "the code");
    }
    try (Device device = open("word")) {
      check(device.state().optedOut(), "the word is forgotten");
      device.optOut(false);
      check(!device.state().optedOut(), "not back in");
      check(device.history().isEmpty(), "a history");
      check(device.state().leftEpsilonNanos().equals(OptionalLong.of(8_000_000_000L)), "what is left");
    }
    try (Device device = Device.open(options("limitless").maxTotalEpsilonNanos(0))) {
      check(!device.state().leftEpsilonNanos().isPresent(), "a limit");
    }
  }

  private void closedHandlesAreRefused() throws Exception {
    Device device = open("closed");
    Visit visit = device.openVisit(VisitOptions.toCurator("localhost:1").answer("study", (terms, row) -> {}));
    thrown(CoppiceException.InvalidArgument.class, () -> device.openVisit(VisitOptions.toCurator("localhost:1")));
    check(visit.next().method().endsWith("/GetOffer"), "the first call");
    device.close(); // and the visit
    device.close();
    visit.close();
    visit.close();
    thrown(IllegalStateException.class, visit::next);
    thrown(IllegalStateException.class, visit::outcome);
    thrown(IllegalStateException.class, () -> run(() -> visit.take(new byte[0])));
    thrown(IllegalStateException.class, () -> run(() -> visit.fail(14)));
    thrown(IllegalStateException.class, device::state);
    thrown(IllegalStateException.class, device::history);
    thrown(IllegalStateException.class, () -> run(() -> device.optOut(true)));
    thrown(IllegalStateException.class, () -> run(() -> device.giveUp("study")));
    thrown(IllegalStateException.class, () -> device.openVisit(VisitOptions.toCurator("localhost:1")));
    open("closed").close();
  }

  private static Object run(Test test) throws Exception {
    test.run();
    return null;
  }

  private void threadsMayCloseWhileOthersWork() throws Exception {
    for (int round = 0; round < 50; ++round) {
      Device device = open("threads");
      Thread worker =
          new Thread(
              () -> {
                try {
                  while (true) {
                    try (Visit visit =
                        device.openVisit(VisitOptions.toCurator("localhost:1").answer("s", (terms, row) -> {}))) {
                      visit.next();
                      visit.fail(14);
                    }
                  }
                } catch (CoppiceException | IllegalStateException closed) {
                  // as it should be
                }
              });
      worker.start();
      device.state();
      device.close();
      worker.join();
    }
  }

  private void aJournalHasOneDevice() throws Exception {
    try (Device first = open("once")) {
      CoppiceException refused = thrown(CoppiceException.Unavailable.class, () -> open("once"));
      check(refused.getMessage().contains("once"), refused.getMessage());
      check(first.state().answers() == 0, "the first is disturbed");
    }
    open("once").close();
  }

  private void textsCrossAsUtf8() throws Exception {
    // A name outside the basic plane takes six bytes in Java's own encoding, and four in UTF-8.
    String name = "\uD83C\uDF33-caf\u00E9";
    Path journal = folder.resolve(name);
    try (Device device = Device.open(new DeviceOptions(journal.toString()).curatorKey(KEY).subject(name))) {
      check(device.state().answers() == 0, "answers");
    }
    if (!"UTF-8".equals(System.getProperty("sun.jnu.encoding"))) {
      return; // this Java cannot name such a file itself
    }
    check(Files.exists(journal), "another file was made");
  }

  private void mistakesAreTyped() throws Exception {
    thrown(CoppiceException.InvalidArgument.class, () -> new DeviceOptions("x").curatorKey("ed25519:short"));
    thrown(IllegalArgumentException.class, () -> Device.open(new DeviceOptions("with\0zero")));
    thrown(IllegalArgumentException.class, () -> new DeviceOptions("x").maxWaiting(-1));
    thrown(CoppiceException.InvalidArgument.class, () -> Device.open(options("bad").maxEpsilonNanos(0)));
    thrown(CoppiceException.InvalidArgument.class, () -> Device.open(options("bad").maxOfferBytes(1L << 40)));
    thrown(CoppiceException.InvalidArgument.class, () -> Device.open(options("bad").allowInClear("a").joinId("a")));
    thrown(CoppiceException.InvalidArgument.class, () -> Device.open(options("bad").relayKey(KEY)));
    List<OwnColumn> columns =
        Arrays.asList(
            OwnColumn.number("age", 18, 90).whole().unit("years"),
            OwnColumn.category("shift", Arrays.asList("day", "night")),
            OwnColumn.classes("sleeps badly", Arrays.asList("no", "yes")));
    Device.open(options("good").ownColumns(columns)).close();
    CoppiceException named =
        thrown(
            CoppiceException.InvalidArgument.class,
            () -> Device.open(options("bad").ownColumns(Arrays.asList(OwnColumn.number("age", 9, 1), columns.get(2)))));
    check(named.getMessage().contains("age"), named.getMessage());
    thrown(CoppiceException.Unavailable.class, () -> Device.open(new DeviceOptions("/no/such/place").curatorKey(KEY)));
    try (Device device = open("typed")) {
      thrown(CoppiceException.NotFound.class, () -> run(() -> device.giveUp("none")));
      thrown(CoppiceException.InvalidArgument.class, () -> device.openVisit(VisitOptions.toRelay("localhost:1")));
      thrown(
          CoppiceException.InvalidArgument.class,
          () -> device.openVisit(VisitOptions.toCurator("localhost:1").answer("No Id", (terms, row) -> {})));
    }
  }

  private void failedCallsEndNothing() throws Exception {
    try (Device device = open("failed")) {
      List<String> carried = new ArrayList<>();
      VisitOptions options = VisitOptions.toCurator("localhost:1").answer("study", (terms, row) -> check(false, "read"));
      Outcome outcome =
          device.visit(
              options,
              (Call call) -> {
                carried.add(call.method());
                throw new CarrierException(14, "no network");
              });
      check(carried.equals(Arrays.asList("/coppice.v1.StudyService/GetOffer")), carried.toString());
      check(outcome.errors().size() == 1 && !outcome.isAnswered(), "the outcome");
      check(outcome.noAnswer().get() instanceof CoppiceException.Unavailable, outcome.noAnswer().toString());
      check(device.state().answers() == 0, "an answer");

      Outcome garbled = device.visit(options, call -> "no offer".getBytes(StandardCharsets.UTF_8));
      check(garbled.errors().get(0) instanceof CoppiceException.DataLoss, garbled.errors().toString());
    }
  }

  private void journalsOfTheVectorsOpenAsTheyShould(Path journals) throws Exception {
    int opened = 0;
    try (java.nio.file.DirectoryStream<Path> files = Files.newDirectoryStream(journals)) {
      for (Path file : files) {
        String name = file.getFileName().toString();
        String status = name.substring(name.lastIndexOf('.') + 1);
        Class<? extends CoppiceException> refused =
            status.equals("DATA_LOSS") ? CoppiceException.DataLoss.class : CoppiceException.Declined.class;
        if (status.equals("OK")) {
          try (Device device = Device.open(new DeviceOptions(file.toString()).curatorKey(KEY))) {
            device.history();
          }
        } else {
          thrown(refused, () -> Device.open(new DeviceOptions(file.toString()).curatorKey(KEY)));
        }
        ++opened;
      }
    }
    check(opened > 5, "there are no vectors");
  }

  public static void main(String[] arguments) {
    DeviceTest test = new DeviceTest(Paths.get(arguments[0]));
    run("ownersWordOutlivesTheDevice", test::ownersWordOutlivesTheDevice);
    run("closedHandlesAreRefused", test::closedHandlesAreRefused);
    run("threadsMayCloseWhileOthersWork", test::threadsMayCloseWhileOthersWork);
    run("aJournalHasOneDevice", test::aJournalHasOneDevice);
    run("textsCrossAsUtf8", test::textsCrossAsUtf8);
    run("mistakesAreTyped", test::mistakesAreTyped);
    run("failedCallsEndNothing", test::failedCallsEndNothing);
    run("journalsOfTheVectorsOpenAsTheyShould", () -> test.journalsOfTheVectorsOpenAsTheyShould(Paths.get(arguments[1])));
    System.exit(failures == 0 ? 0 : 1);
  }
}
