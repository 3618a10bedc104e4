// A ledger on hold: why nothing can be charged, and the two ways to end it.

import {LedgerHold, type Dataset} from 'proto/dataset_pb';
import {useState} from 'preact/hooks';
import {datasets} from '../api/clients';
import {idOf} from '../api/ids';
import {useAction} from '../api/load';
import {TextField} from '../parts/field';
import {DELTA_WANTED, delta, epsilon, parseDelta, parseEpsilon} from '../parts/format';
import {Command} from '../parts/layout';
import {Confirm, Notice} from '../parts/notice';
import {costText} from './budget';

interface HoldProps {
  dataset: Dataset;
  onChange: (dataset: Dataset) => void;
}

/** Reads 64 digits as 32 bytes, or returns null. */
function parseHead(text: string): Uint8Array<ArrayBuffer> | null {
  const digits = text.trim();
  if (!/^[0-9a-f]{64}$/i.test(digits)) return null;
  return Uint8Array.from({length: 32}, (_, i) => parseInt(digits.slice(2 * i, 2 * i + 2), 16));
}

function ConfirmHead({dataset, onChange, onClose}: HoldProps & {onClose: () => void}) {
  const [text, setText] = useState('');
  const [isTried, setTried] = useState(false);
  const head = parseHead(text);
  const act = useAction(async signal => {
    const {dataset: changed} = await datasets.confirmLedger({name: dataset.name, head: head!}, {signal});
    if (changed !== undefined) onChange(changed);
  });
  const confirm = async () => {
    setTried(true);
    if (head !== null && await act.run()) onClose();
  };
  return <Confirm title="Does the ledger lack nothing?" action="Confirm the head" running={act.running} error={act.error} onConfirm={() => void confirm()} onClose={onClose}>
    <p>The hash of the last entry, as it was noted before the loss and away from the store, proves that no charge is missing. With any other hash nothing changes.</p>
    <TextField label="Head that was noted last" value={text} onValue={setText} placeholder="64 hex digits" class="mono"
      error={isTried && head === null ? 'A head has 64 digits, 0 to 9 and a to f.' : null}/>
  </Confirm>;
}

function WriteOff({dataset, onChange, onClose}: HoldProps & {onClose: () => void}) {
  const told = dataset.holdLost;
  const [epsilonText, setEpsilon] = useState(told === undefined ? '' : epsilon(told.epsilonNanos));
  const [deltaText, setDelta] = useState(told === undefined ? '0' : delta(told.deltaAtto).replace('−', '-'));
  const nanos = parseEpsilon(epsilonText), atto = parseDelta(deltaText);
  const act = useAction(async signal => {
    const {dataset: changed} = await datasets.writeOffLedger({name: dataset.name, epsilonNanos: nanos ?? 0n, deltaAtto: atto ?? 0n}, {signal});
    if (changed !== undefined) onChange(changed);
  });
  const [isTried, setTried] = useState(false);
  const isReady = nanos !== null && atto !== null;
  const confirm = async () => {
    setTried(true);
    if (isReady && await act.run()) onClose();
  };
  return <Confirm title="Write off what was lost?" action="Charge it and end the hold" danger typed={idOf(dataset.name)} running={act.running} error={act.error}
    onConfirm={() => void confirm()} onClose={onClose}>
    <p>This charges the budget for entries that the ledger lost, at most all that is left, and lets jobs be charged again. It cannot be undone.
      Charge no less than was spent since the backup: what is written off too little is spent twice.</p>
    {told !== undefined && <p>The spending journal says that {costText(told)} was charged by entries that are lost.</p>}
    <div class="fields">
      <TextField label="ε that was lost" value={epsilonText} onValue={setEpsilon} inputMode="decimal"
        error={nanos === null && (isTried || epsilonText !== '') ? 'A number above 0, such as 0.5.' : null}/>
      <TextField label="δ that was lost" value={deltaText} onValue={setDelta} inputMode="decimal" error={atto === null ? DELTA_WANTED : null}/>
    </div>
  </Confirm>;
}

export function HoldNotice({dataset, onChange}: HoldProps) {
  const [asked, setAsked] = useState<'' | 'confirm' | 'write-off'>('');
  const id = idOf(dataset.name), isLost = dataset.holdLost !== undefined, close = () => setAsked('');
  if (dataset.hold === LedgerHold.CLOSED) {
    return <Notice kind="error" title="On hold for good"><p>The ledger was damaged, and no longer proves that anything is left. No job of this dataset will be charged again.
      Its models stay. To go on, upload the rows as a new dataset, with a budget that allows for all that was released of this one.</p></Notice>;
  }
  return <>
    <Notice kind="warning" title="On hold: nothing of the budget can be spent now" action={<>
      {!isLost && <button type="button" class="small" onClick={() => setAsked('confirm')}>Confirm the head</button>}
      <button type="button" class="small danger" onClick={() => setAsked('write-off')}>Write off what was lost</button></>}>
      <p>The store was restored or mended, so entries may be missing from the end of the ledger. {isLost
        ? `The spending journal says that ${costText(dataset.holdLost)} was charged by entries that are lost, so no head can confirm this ledger: an admin ends the hold by charging at least that.`
        : 'An admin ends the hold: by the head that was noted last, or by charging what was lost.'}</p>
      <Command text={isLost ? `coppice dataset write-off --dataset ${id} --yes` : `coppice dataset confirm --dataset ${id} --head HASH`}/>
    </Notice>
    {asked === 'confirm' && <ConfirmHead dataset={dataset} onChange={onChange} onClose={close}/>}
    {asked === 'write-off' && <WriteOff dataset={dataset} onChange={onChange} onClose={close}/>}
  </>;
}
