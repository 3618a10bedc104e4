package coppice.device;

import java.util.Collections;
import java.util.List;

/** A column that a study asks for. */
public final class Column {
  public enum Kind {
    NUMBER(1),
    CATEGORY(2),
    /** The label: one of the values. */
    CLASS(3),
    /** The label: a number. */
    TARGET(4),
    /** What a study that is joined by an id shows of the row. */
    ID(5);

    final int number;

    Kind(int number) {
      this.number = number;
    }

    static Kind of(int number) {
      return values()[number - 1];
    }
  }

  private final String name;
  private final Kind kind;
  private final boolean isPublic;
  private final double min;
  private final double max;
  private final List<String> values;

  Column(String name, Kind kind, boolean isPublic, double min, double max, List<String> values) {
    this.name = name;
    this.kind = kind;
    this.isPublic = isPublic;
    this.min = min;
    this.max = max;
    this.values = Collections.unmodifiableList(values);
  }

  public String name() {
    return name;
  }

  public Kind kind() {
    return kind;
  }

  /** Whether it is sent in the clear. */
  public boolean isPublic() {
    return isPublic;
  }

  /** Of numbers. */
  public double min() {
    return min;
  }

  /** Of numbers. */
  public double max() {
    return max;
  }

  /** Of categories and classes. */
  public List<String> values() {
    return values;
  }
}
