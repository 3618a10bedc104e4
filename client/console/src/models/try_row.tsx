// One row typed by hand: what the model answers, how sure it is, and what leads there.

import {useMemo, useState} from 'preact/hooks';
import type {Feature} from 'proto/schema_pb';
import {SelectField, TextField, Form} from '../parts/field';
import {count, plain} from '../parts/format';
import {Remark, Section} from '../parts/layout';
import {Failure} from '../parts/notice';
import {Pager} from '../parts/table';
import {cut, visible} from '../parts/text';
import {Answer, spokenAnswer} from './answer';
import type {ModelProps} from './model';
import type {TriedRow} from './tried_row';
import {encodeTyped, startOf} from './typed_fields';

const FIELDS_SHOWN = 24, MOST_OPTIONS = 200, MOST_OPTION_TEXT = 60;

export function TryRow(props: ModelProps) {
  const {model, tried} = props;
  const {fields, unreadable, predict, answer} = tried;
  const problem = unreadable.length === 0 ? null : `${visible(cut(model.schema.features[unreadable[0]!]!.name, 40))} is no number.`;
  return <>
    <Section title="The row" aside="The daemon gets to see the row, and does not keep it.">
      <div class="row-form"><Form action="Predict" running={predict.running} problem={problem} onSubmit={() => void predict.run()} extra={<>
        <button type="button" class="small" onClick={() => tried.setFields(model.schema.features.map(() => ''))}>All missing</button>
        <button type="button" class="small" onClick={() => tried.setFields(model.schema.features.map(startOf))}>Middle of the bounds</button>
        {answer !== null && answer.fields !== fields && !predict.running && <span class="problem">The answer below is of the row before.</span>}
      </>}>
        <RowFields {...props}/>
      </Form></div>
    </Section>
    <Failure error={predict.error}/>
    <p class="hidden" role="status">{answer !== null && spokenAnswer(model, answer)}</p>
    {answer === null ? <Remark>The row begins at the middle of each number's bounds. An empty field is a missing value. Each feature's bounds are public: what is
      outside is taken as the nearest bound, as on a device.</Remark> : <Answer {...props} answer={answer}/>}
  </>;
}

/** Shows the most decisive features first; many features are searched by name and paged. */
function RowFields({model, described, tried}: ModelProps) {
  const [search, setSearch] = useState('');
  const [first, setFirst] = useState(0);
  const order = useMemo(() => {
    const rank = new Map(described.data?.importances.map(({feature}, i) => [feature, i]));
    const last = rank.size;
    return model.schema.features.map((_, i) => i).sort((a, b) =>
      (rank.get(model.schema.features[a]!.name) ?? last) - (rank.get(model.schema.features[b]!.name) ?? last) || a - b);
  }, [model, described.data]);
  const found = search === '' ? order : order.filter(i => model.schema.features[i]!.name.toLowerCase().includes(search.toLowerCase()));
  const begin = first < found.length ? first : 0;
  const isLong = order.length > FIELDS_SHOWN;
  return <>
    {isLong && <TextField label="Search features" type="search" value={search} onValue={text => { setSearch(text); setFirst(0); }}
      hint={`${count(order.length)} features, the most important first; fields that are not in view count too.`}/>}
    <div class="fields">{found.slice(begin, begin + FIELDS_SHOWN).map(i =>
      <RowField key={i} feature={model.schema.features[i]!} number={i} tried={tried}/>)}</div>
    {found.length === 0 && <p>No feature's name holds this text.</p>}
    {isLong && <Pager first={begin} size={FIELDS_SHOWN} total={found.length} onFirst={setFirst} what="features"/>}
  </>;
}

function RowField({feature, number, tried}: {feature: Feature; number: number; tried: TriedRow}) {
  const label = visible(cut(feature.name, 60)), text = tried.fields[number]!, onValue = (value: string) => tried.setField(number, value);
  if (feature.type.case === 'categorical') {
    const {values} = feature.type.value;
    if (values.length <= MOST_OPTIONS) {
      return <SelectField label={label} value={text} onValue={onValue} hint={`one of ${count(values.length)}`} options={[
        ...values.map((value, code): [string, string] => [String(code), visible(cut(value, MOST_OPTION_TEXT))]), [String(values.length), 'other'], ['', 'missing']]}/>;
    }
    return <CategoryText label={label} values={values} text={text} onValue={onValue}/>;
  }
  const {note, value} = encodeTyped(feature, text);
  const range = feature.type.case === 'numeric' ? feature.type.value : null;
  const unit = range === null || range.unit === '' ? '' : ` ${visible(range.unit)}`;
  const hint = note === 'clamped' || note === 'rounded' ? `taken as ${plain(value)}${unit}` : note === 'missing' ? 'missing'
    : range === null ? '' : `${plain(range.min)} to ${plain(range.max)}${unit}${range.integer ? ', whole' : ''}`;
  return <TextField label={label} value={text} onValue={onValue} inputmode="decimal" placeholder="missing" hint={hint} error={note === 'unreadable' ? 'This is no number.' : null}/>;
}

/** Takes a typed value where the vocabulary is too long to choose from. */
function CategoryText({label, values, text, onValue}: {
  label: string; values: readonly string[]; text: string; onValue: (text: string) => void;
}) {
  const [typed, setTyped] = useState('');
  const type = (word: string) => {
    setTyped(word);
    const code = word === '' ? -1 : values.indexOf(word);
    onValue(word === '' ? '' : String(code < 0 ? values.length : code));
  };
  const known = text === '' ? '' : values[Number(text)];
  return <TextField label={label} value={known ?? typed} onValue={type} placeholder="missing"
    hint={text === '' ? `one of ${count(values.length)}` : known === undefined ? 'taken as other' : 'in the vocabulary'}/>;
}
