// Deletes a dataset's rows, after asking.

import type {Dataset} from 'proto/dataset_pb';
import {useState} from 'preact/hooks';
import {datasets} from '../api/clients';
import {idOf} from '../api/ids';
import {useAction} from '../api/load';
import {Confirm} from '../parts/notice';
import {Name} from '../parts/text';

export function DeleteDataset({dataset, onDeleted}: {dataset: Dataset; onDeleted: () => void}) {
  const [isAsking, setAsking] = useState(false);
  const id = idOf(dataset.name);
  const remove = useAction(async signal => { await datasets.deleteDataset({name: dataset.name}, {signal}); });
  const confirm = async () => {
    if (!await remove.run()) return;
    setAsking(false);
    onDeleted();
  };
  return <>
    <p><button type="button" class="danger" onClick={() => { remove.clear(); setAsking(true); }}>Delete its rows</button></p>
    {isAsking && <Confirm title="Delete the rows of this dataset?" action="Delete its rows" danger typed={id} running={remove.running}
      error={remove.error} onConfirm={() => void confirm()} onClose={() => setAsking(false)}>
      <p>All rows of <Name text={id}/> are deleted from the curator's store, for good. They stay in backups that were made before, until those are replaced.</p>
      <p>What was released stays spent: the ledger and the models stay, and no new dataset can have its name. A dataset with jobs that are queued or running is not deleted.</p>
    </Confirm>}
  </>;
}
