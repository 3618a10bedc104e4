package coppice.device;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** What a study asks. A copy: it may be kept and shown after the callback that it was given to. */
public final class Terms {
  private final String study;
  private final long epsilonNanos;
  private final String mechanism;
  private final List<Column> columns;

  private Terms(String study, long epsilonNanos, String mechanism, List<Column> columns) {
    this.study = study;
    this.epsilonNanos = epsilonNanos;
    this.mechanism = mechanism;
    this.columns = columns;
  }

  static Terms copyOf(long terms) {
    List<Column> columns = new ArrayList<>();
    for (int i = 0; i < Native.numColumns(terms); ++i) {
      columns.add(columnOf(terms, i));
    }
    return new Terms(
        Text.of(Native.termsStudy(terms)),
        Native.termsEpsilonNanos(terms),
        Text.of(Native.termsMechanism(terms)),
        Collections.unmodifiableList(columns));
  }

  private static Column columnOf(long terms, int column) {
    double[] bounds = new double[2];
    int[] facts = new int[3];
    String name = Text.of(Native.column(terms, column, bounds, facts));
    List<String> values = new ArrayList<>();
    for (int value = 0; value < facts[2]; ++value) {
      values.add(Text.of(Native.value(terms, column, value)));
    }
    return new Column(name, Column.Kind.of(facts[0]), facts[1] != 0, bounds[0], bounds[1], values);
  }

  public String study() {
    return study;
  }

  /** In billionths. */
  public long epsilonNanos() {
    return epsilonNanos;
  }

  /** Such as "subset_selection". */
  public String mechanism() {
    return mechanism;
  }

  /** What is asked for, the label last. */
  public List<Column> columns() {
    return columns;
  }
}
