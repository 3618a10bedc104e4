package coppice.device;

/** Reads the device's private row. */
@FunctionalInterface
public interface RowReader {
  /**
   * Sets the row's columns. Called once, when nothing can decline any more: there is a report whatever it sets. If it
   * throws, what it set until then counts, and {@link Outcome#callbackError()} has the exception. It must not use the
   * device or the visit. Behind a relay it must return within a tenth of the longest delay of sending.
   */
  void read(Terms terms, Row row) throws Exception;
}
