// The terms of a study, as a device sees them before it answers.

import type {Feature} from 'proto/schema_pb';
import {MechanismSchema, SplitRuleSchema} from 'proto/study_pb';
import {meaningOf, nameOf} from '../parts/enums';
import {count, countOf, epsilon, hex, plain} from '../parts/format';
import {Facts, Remark, Section, Sentences, When} from '../parts/layout';
import {Table} from '../parts/table';
import {Name, Names} from '../parts/text';
import type {StudyProps} from './study';

function boundsOf({type}: Feature) {
  if (type.case === 'categorical') return <>{countOf(type.value.values.length, 'value')}: <Names texts={type.value.values}/></>;
  if (type.case !== 'numeric') return '–';
  const {min, max, unit, integer} = type.value;
  return <>{plain(min)} to {plain(max)}{unit !== '' && <> <Name text={unit} most={30}/></>}{integer && ', whole numbers'}</>;
}

export function StudyTerms({study}: StudyProps) {
  const {terms, partition, settings} = study, schema = terms.schema, features = schema?.features ?? [];
  const halfRange = study.forest?.trees[0]?.halfRange;
  const shown = features.filter(feature => feature.isPublic).length;
  const sends = [
    `A device answers once, at epsilon ${epsilon(terms.epsilonNanos)}. It draws a ticket, which draws one of ${count(terms.trees)} trees, and looks up the leaf that its row comes to.`,
    `What it sends (${nameOf(MechanismSchema, terms.mechanism)}): ${meaningOf(MechanismSchema, terms.mechanism)}`,
    shown === 0 ? 'Nothing of the row is sent in the clear.'
      : `${shown === features.length ? 'All features are' : `${countOf(shown, 'feature is', 'features are')}`} sent in the clear; the rest of the row and the label are hidden.`,
    ...(terms.rounding ? [`It cuts the number to ${halfRange ? `at most ${plain(halfRange)} from its leaf's centre` : `${plain(terms.rounding.low)} to ${plain(terms.rounding.high)}`}, rounds it at random to ${terms.window ? `one of ${count(2 * (terms.window.reach - terms.window.halfWidth) + 1)} points between` : 'one of the ends'}, and hides which.`] : []),
    ...(terms.joinedBy === '' ? [] : [`It shows its ${terms.joinedBy} instead of its features, which the curator has already.`]),
    `Neighbours: ${study.neighbouring}.`,
  ];
  return <>
    <Section title="What a device sends"><Sentences texts={sends}/></Section>
    <Section title="What it checks">
      <Facts facts={[
        ['Fingerprint of the terms', <code>{hex(study.fingerprint)}</code>],
        ['Root of the trees', <code>{hex(terms.forestRoot)}</code>],
        ['Mechanism', nameOf(MechanismSchema, terms.mechanism)],
        ['Epsilon per report', epsilon(terms.epsilonNanos)],
      ]}/>
      <Remark>Reports carry the fingerprint. A device refuses terms that are looser than the last it saw of this study.</Remark>
    </Section>
    <Section title="The row" aside={schema?.target ? 'predicts a number' : countOf(schema?.classes.length ?? 0, 'class', 'classes')}>
      <p>{schema?.target
        ? <><Name text={schema.label}/> is predicted, a number from {plain(schema.target.min)} to {plain(schema.target.max)} <Name text={schema.target.unit || 'without a unit'} most={30}/>.</>
        : <><Name text={schema?.label ?? ''}/> is predicted: <Names texts={schema?.classes ?? []}/>.</>}</p>
      <Table caption="Features and their public bounds" rows={features.slice(0, MOST_FEATURES)} rowKey={feature => feature.name} columns={[
        {head: 'feature', cell: feature => <Name text={feature.name}/>},
        {head: 'bounds or values', cell: boundsOf},
        {head: 'sent', cell: feature => feature.isPublic ? 'in the clear' : 'hidden'},
      ]}/>
      {features.length > MOST_FEATURES && <Remark>{count(features.length - MOST_FEATURES)} more features are left out here: coppice study show lists all.</Remark>}
    </Section>
    <Section title="How it was made">
      <Facts facts={[
        ['Created', <When at={study.createdUnixSeconds} exact/>],
        study.owner !== '' && ['By', <Name text={study.owner}/>],
        ['Public rows', count(study.publicRows)],
        partition && ['Partition', `${nameOf(SplitRuleSchema, partition.rule)}, depth ${partition.maxDepth}, at least ${countOf(partition.minLeaf, 'public row')} a leaf`],
        partition?.byFeature ? ['Trees begin with', <Name text={partition.byFeature}/>] : null,
        ['Fewest reports of a model', count(settings?.minReports ?? 1n)],
        ['Ends', <When at={settings?.expiresUnixSeconds ?? 0n} exact/>],
        ['Kept after sealing', settings?.retentionDays ? countOf(settings.retentionDays, 'day') : 'for good'],
        ['Submission tokens', settings?.requireSubmissionToken ? 'required, one report each' : 'not asked for'],
      ]}/>
      {study.choice !== '' && <Remark><Name text={study.choice} most={600}/></Remark>}
    </Section>
  </>;
}

const MOST_FEATURES = 500;
