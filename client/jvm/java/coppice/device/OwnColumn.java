package coppice.device;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** A column of the device's own rows, as its owner declares it. A study that disagrees with it is declined. */
public final class OwnColumn {
  final String name;
  final int kind;
  final double min;
  final double max;
  final boolean isWhole;
  final String unit;
  final List<String> values;

  private OwnColumn(
      String name, Column.Kind kind, double min, double max, boolean isWhole, String unit, List<String> values) {
    this.name = name;
    this.kind = kind.number;
    this.min = min;
    this.max = max;
    this.isWhole = isWhole;
    this.unit = unit;
    this.values = values;
  }

  public static OwnColumn number(String name, double min, double max) {
    return new OwnColumn(name, Column.Kind.NUMBER, min, max, false, "", Collections.emptyList());
  }

  /** The label, where it is a number. */
  public static OwnColumn target(String name, double min, double max) {
    return new OwnColumn(name, Column.Kind.TARGET, min, max, false, "", Collections.emptyList());
  }

  public static OwnColumn category(String name, List<String> values) {
    return new OwnColumn(name, Column.Kind.CATEGORY, 0, 0, false, "", new ArrayList<>(values));
  }

  /** The label, where it is one of several classes. */
  public static OwnColumn classes(String name, List<String> values) {
    return new OwnColumn(name, Column.Kind.CLASS, 0, 0, false, "", new ArrayList<>(values));
  }

  /** A number that has no fraction, and neither have its bounds. */
  public OwnColumn whole() {
    return new OwnColumn(name, Column.Kind.of(kind), min, max, true, unit, values);
  }

  /** Such as "mmHg". */
  public OwnColumn unit(String of) {
    return new OwnColumn(name, Column.Kind.of(kind), min, max, isWhole, of, values);
  }
}
