// The calls of an upload, over the daemon's API.

import {Code, ConnectError} from '@connectrpc/connect';
import {DatasetState, type Dataset} from 'proto/dataset_pb';
import {datasets} from '../api/clients';
import {connection} from '../api/connection';
import {isPassing} from '../api/errors';
import type {UploadCalls} from './upload';

const PAUSE_MS = 1500;

function rowsOf(dataset: Dataset | undefined): number {
  if (dataset === undefined) throw new Error('The daemon answered without the dataset.');
  return Number(dataset.rows);
}

/** Resolves after a pause, once the daemon can be reached. */
function waitForConnection(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(() => { if (!connection.get().lost) end(); }, PAUSE_MS);
    const stop = connection.subscribe(({lost}) => { if (!lost) end(); });
    const end = () => {
      clearTimeout(timer);
      stop();
      signal.removeEventListener('abort', end);
      resolve();
    };
    signal.addEventListener('abort', end);
  });
}

export function uploadCalls(name: string): UploadCalls {
  return {
    async stored(signal) {
      const {dataset} = await datasets.getDataset({name, maxEntries: 1}, {signal});
      if (dataset !== undefined && dataset.state !== DatasetState.UPLOADING) throw new Error('The upload has ended already: the dataset takes no more rows.');
      return rowsOf(dataset);
    },
    async append(firstRow, rows, signal) {
      return rowsOf((await datasets.appendRows({dataset: name, firstRow: BigInt(firstRow), rows}, {signal})).dataset);
    },
    async complete(firstRow, signal) {
      await datasets.appendRows({dataset: name, firstRow: BigInt(firstRow), complete: true}, {signal});
    },
    // Both a quota and a full queue answer ResourceExhausted: the queue empties, a quota does not.
    isPassing: error => isPassing(error) && ConnectError.from(error).code !== Code.Canceled,
    wait: waitForConnection,
  };
}
