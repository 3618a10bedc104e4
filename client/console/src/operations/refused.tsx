// Explains why an operator's call was refused: the role may not make it, or a setting must allow it first.

import {Code, ConnectError} from '@connectrpc/connect';
import {Failure, Notice} from '../parts/notice';
import {Command} from '../parts/layout';
import {visible} from '../parts/text';

/** `needs` names the daemon's setting without which the call is FailedPrecondition. */
export function Refused({error, retry, needs, what}: {error: unknown; retry: () => void; needs?: string; what: string}) {
  const failure = error === null ? null : ConnectError.from(error);
  if (failure?.code === Code.PermissionDenied) {
    return <Notice kind="info" title={`${what} the operator's to see`}><p>The daemon says: <bdi>{visible(failure.rawMessage)}</bdi>.</p></Notice>;
  }
  if (failure?.code === Code.FailedPrecondition && needs !== undefined) {
    return <Notice kind="info" title="The daemon was started without it"><p><bdi>{visible(failure.rawMessage)}</bdi></p><Command text={needs}/></Notice>;
  }
  return <Failure error={error} retry={retry}/>;
}
