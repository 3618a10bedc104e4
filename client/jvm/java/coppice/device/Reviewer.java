package coppice.device;

/** Asks the owner, who may decline. */
@FunctionalInterface
public interface Reviewer {
  /**
   * Whether to answer. Called once, when the terms have passed the policy and before the row is read, which the result
   * must not depend on. If it throws, the study is declined. It must not use the device or the visit, nor wait for a
   * thread that does.
   */
  boolean agrees(Terms terms) throws Exception;
}
