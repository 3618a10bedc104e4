import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;

/**
 * The core that the jar loads makes, in a JVM, every byte of the vectors.
 *
 * <pre>VectorsTest LIBRARY FOLDER</pre>
 */
public final class VectorsTest {
  private VectorsTest() {}

  /** Names and texts, one after the other. */
  private static native byte[][] make();

  public static void main(String[] arguments) throws Exception {
    System.load(arguments[0]);
    Path folder = Paths.get(arguments[1]);
    byte[][] made = make();
    int wrong = 0;
    for (int i = 0; i < made.length; i += 2) {
      String name = new String(made[i], StandardCharsets.UTF_8);
      boolean same = Arrays.equals(made[i + 1], Files.readAllBytes(folder.resolve(name)));
      System.out.println((same ? "same " : "OTHER ") + name);
      wrong += same ? 0 : 1;
    }
    System.exit(wrong == 0 && made.length > 20 ? 0 : 1);
  }
}
