// The public columns of a table.

import type {Feature, NumericType, Schema} from 'proto/schema_pb';
import {useState} from 'preact/hooks';
import {plain} from '../parts/format';
import {Pager, Table} from '../parts/table';
import {Name, Names} from '../parts/text';

const ROWS = 20;

function Range({type}: {type: NumericType}) {
  return <>{plain(type.min)} to {plain(type.max)}{type.unit !== '' && <> <Name text={type.unit} most={20}/></>}{type.integer && ', whole numbers'}</>;
}

function Values({feature}: {feature: Feature}) {
  if (feature.type.case === 'numeric') return <Range type={feature.type.value}/>;
  return feature.type.case === 'categorical' ? <Names texts={feature.type.value.values} most={8}/> : <>–</>;
}

export function SchemaTable({schema}: {schema: Schema | undefined}) {
  const [first, setFirst] = useState(0);
  if (schema === undefined) return null;
  const {features, target} = schema;
  return <>
    <p>All of this is public by declaration. A row's label is <Name text={schema.label}/>: {target === undefined ? <>one of {schema.classes.length} classes, <Names texts={schema.classes} most={8}/></>
      : <>a number, <Range type={target}/></>}.</p>
    <Table caption={`${features.length} ${features.length === 1 ? 'feature' : 'features'}`} rows={features.slice(first, first + ROWS)} rowKey={(_, i) => first + i} columns={[
      {head: 'feature', cell: feature => <Name text={feature.name} most={48}/>},
      {head: 'type', cell: feature => feature.type.case ?? '–'},
      {head: 'public bounds or values', cell: feature => <Values feature={feature}/>},
    ]}/>
    <Pager first={first} size={ROWS} total={features.length} onFirst={setFirst} what="features"/>
  </>;
}
