package coppice.device;

import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * A row that a {@link RowReader} fills, by the names of columns. A column that is not asked for is passed over, and one
 * that is never set is missing. A text that does not fit is as good as missing, or "other" for a category; numbers are
 * clamped to their bounds. So no value is an error.
 */
public final class Row {
  private long row; // 0 once the reader has returned

  Row(long row) {
    this.row = row;
  }

  public void set(String column, String text) {
    Native.setText(open(), Text.toC(column), text.getBytes(StandardCharsets.UTF_8));
  }

  public void set(String column, double number) {
    Native.setNumber(open(), Text.toC(column), number);
  }

  /** What a type's toMap() returns that `coppice schema generate --language java` wrote: texts and numbers. */
  public void set(Map<String, ?> columns) {
    for (Map.Entry<String, ?> column : columns.entrySet()) {
      Object value = column.getValue();
      if (value instanceof Number) {
        set(column.getKey(), ((Number) value).doubleValue());
      } else if (value != null) {
        set(column.getKey(), value.toString());
      }
    }
  }

  void end() {
    row = 0;
  }

  private long open() {
    if (row == 0) {
      throw new IllegalStateException("a row is set while its reader runs, and not later");
    }
    return row;
  }
}
