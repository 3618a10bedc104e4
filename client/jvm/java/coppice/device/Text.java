package coppice.device;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** Texts on their way to C and back: UTF-8 that ends with a zero byte, and never Java's own encoding of it. */
final class Text {
  private Text() {}

  static byte[] toC(String text) {
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    for (byte part : utf8) {
      if (part == 0) {
        throw new IllegalArgumentException("a text has a zero byte in it, where C would end it");
      }
    }
    return Arrays.copyOf(utf8, utf8.length + 1);
  }

  static @Nullable byte[] toCOrNull(@Nullable String text) {
    return text == null ? null : toC(text);
  }

  static byte[][] toC(List<String> texts) {
    byte[][] all = new byte[texts.size()][];
    for (int i = 0; i < all.length; ++i) {
      all[i] = toC(texts.get(i));
    }
    return all;
  }

  static String of(byte[] utf8) {
    return new String(utf8, StandardCharsets.UTF_8);
  }
}
