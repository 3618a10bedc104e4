package coppice.device;

/** Carries calls to the curator or the relay: {@link HttpCarrier}, or a transport of your own. */
@FunctionalInterface
public interface Carrier {
  /**
   * Returns the response, a serialized message. Try again, with waits, after UNAVAILABLE and DEADLINE_EXCEEDED. To a
   * relay trust the authority that its operator names and none of the system's, and show its token with calls that
   * take a ticket alone.
   *
   * @throws CarrierException with the other end's code
   */
  byte[] carry(Call call) throws CarrierException, InterruptedException;
}
