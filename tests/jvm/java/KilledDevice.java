import coppice.device.Call;
import coppice.device.Device;
import coppice.device.DeviceOptions;
import coppice.device.HttpCarrier;
import coppice.device.Visit;
import coppice.device.VisitOptions;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;

/**
 * A device that tells each step on its standard output, so that its parent can kill it there.
 *
 * <pre>KilledDevice JOURNAL CURATOR_KEY HOST:PORT CA_FILE STUDY [RELAY_KEY RELAY_TOKEN]</pre>
 *
 * With -Dwaits=true it waits for a byte on its standard input once its journal is open.
 */
public final class KilledDevice {
  private KilledDevice() {}

  private static void tell(String step) {
    System.out.println(step);
    System.out.flush();
  }

  private static String read(String file) throws java.io.IOException {
    return new String(Files.readAllBytes(Paths.get(file)), StandardCharsets.UTF_8);
  }

  public static void main(String[] arguments) throws Exception {
    boolean isRelayed = arguments.length > 5;
    HttpCarrier carrier = HttpCarrier.to(arguments[2], Files.readAllBytes(Paths.get(arguments[3])));
    DeviceOptions options = new DeviceOptions(arguments[0]).curatorKey(read(arguments[1]));
    VisitOptions visits = isRelayed ? VisitOptions.toRelay(arguments[2]) : VisitOptions.toCurator(arguments[2]);
    if (isRelayed) {
      options.relayKey(read(arguments[5])).maxSendDelaySeconds(0);
      carrier.relayToken(read(arguments[6]).trim());
    }
    visits.review(
        terms -> {
          tell("review");
          return true;
        });
    visits.answer(
        arguments[4],
        (terms, row) -> {
          tell("read");
          row.set("age", 41);
          row.set("plan", "plus");
          row.set("left", "yes");
        });
    try (Device device = Device.open(options)) {
      tell("open");
      if (Boolean.getBoolean("waits")) {
        System.in.read();
      }
      try (Visit visit = device.openVisit(visits)) {
        for (Call call = visit.next(); call != null; call = visit.next()) {
          if (call.waitMilliseconds() > 0) {
            Thread.sleep(call.waitMilliseconds());
            continue;
          }
          tell("carry " + call.method());
          byte[] response = carrier.carry(call);
          tell("carried " + call.method());
          visit.take(response);
          tell("taken " + call.method());
        }
        if (visit.outcome().callbackError().isPresent()) {
          visit.outcome().callbackError().get().printStackTrace();
        }
      }
      tell("state " + device.state().answers() + " " + device.state().waiting());
    }
    tell("closed");
  }
}
