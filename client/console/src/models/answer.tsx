// What a model predicts for one row.

import {useState} from 'preact/hooks';
import {ContributionUnit, LeafKind, type Prediction} from 'proto/model_pb';
import {count, decimal, percent, plain, significant} from '../parts/format';
import {Figures, Remark, Section, type Figure} from '../parts/layout';
import {Name, visible} from '../parts/text';
import {ForestView} from '../parts/tree';
import {valueText} from '../rows/encode';
import {BarTable} from './bars';
import type {ModelProps, WholeModel} from './model';
import type {Tried} from './tried_row';
import {leafNote} from './trees';
import {isBeyondThisConsole} from './words';

const TREES_NAMED = 8;

const UNITS: Record<ContributionUnit, string> = {
  [ContributionUnit.UNSPECIFIED]: 'probability',
  [ContributionUnit.PROBABILITY]: 'probability',
  [ContributionUnit.WEIGHT]: 'weight',
  [ContributionUnit.SCORE]: 'score',
  [ContributionUnit.VALUE]: 'value',
};

function signed(value: number): string {
  return `${value >= 0 ? '+' : ''}${significant(value)}`;
}

export function Answer(props: ModelProps & {answer: Tried}) {
  const {model, answer: {prediction, classes}} = props;
  return <>
    <section aria-label="The answer">
      <Figures figures={model.schema.target === undefined ? classFigures(model, prediction, classes) : numberFigures(model, prediction)}/>
      <Remark>{model.leafKind === LeafKind.SCORES ? 'The interval is of what exact sums would give on the same splits: it holds the privacy noise, not the sampling.'
        : 'The interval and the error hold privacy noise and sampling together.'} To predict costs no privacy.</Remark>
    </section>
    {model.schema.target === undefined && classes.length > 2 && <Probabilities prediction={prediction} classes={classes}/>}
    <Contributions {...props}/>
    <Ways {...props}/>
  </>;
}

/** The answer in a few words, for screen readers. */
export function spokenAnswer({schema: {label, target}}: WholeModel, {prediction, classes}: Tried): string {
  if (target !== undefined) return `${visible(label)}: ${significant(prediction.value, 5)} ${visible(target.unit)}`;
  return `${visible(label)}: ${visible(classes[prediction.label] ?? '')}, probability ${decimal(prediction.probabilities[prediction.label])}`;
}

function intervalOf({low, high}: Prediction, text: (value: number) => string): string {
  return low === undefined || high === undefined ? '–' : `${text(low)} to ${text(high)}`;
}

function classFigures({schema}: WholeModel, prediction: Prediction, classes: readonly string[]): Figure[] {
  const {label, probabilities, standardError, confidence} = prediction, sure = Number.isFinite(standardError);
  return [
    {name: visible(schema.label), value: <Name text={classes[label] ?? `class ${label}`} most={40}/>, note: 'the answer'},
    {name: 'Probability', value: decimal(probabilities[label]), note: sure ? `± ${decimal(standardError)}` : 'its error is not known'},
    {name: 'Interval', value: intervalOf(prediction, value => decimal(value, 2)), note: 'of the probability, 95 %'},
    {name: 'Confidence', value: sure ? percent(confidence) : '–', note: 'that no other class is more probable'},
  ];
}

function numberFigures({schema: {label, target}}: WholeModel, prediction: Prediction): Figure[] {
  const unit = target!.unit === '' ? '' : ` ${visible(target!.unit)}`, {value, valueError} = prediction;
  return [
    {name: visible(label), value: `${significant(value, 5)}${unit}`, note: 'the answer'},
    {name: 'Standard error', value: Number.isFinite(valueError) ? `± ${significant(valueError, 3)}` : '–', note: Number.isFinite(valueError) ? '' : 'not known'},
    {name: 'Interval', value: intervalOf(prediction, bound => significant(bound, 4)), note: 'of the number, 95 %'},
    {name: 'Bounds', value: `${plain(target!.min)} to ${plain(target!.max)}`, note: 'public; no answer is outside'},
  ];
}

function Probabilities({prediction, classes}: {prediction: Prediction; classes: readonly string[]}) {
  const order = classes.map((_, k) => k).sort((a, b) => (prediction.probabilities[b] ?? 0) - (prediction.probabilities[a] ?? 0));
  return <Section title="Probabilities">
    <BarTable caption="How probable each class is, the most probable first" heads={['class', 'probability']} most={1} what="classes" bars={order.map(k => ({
      key: k, name: <Name text={classes[k]!} most={48}/>, value: prediction.probabilities[k] ?? 0, text: decimal(prediction.probabilities[k]), strong: k === prediction.label}))}/>
  </Section>;
}

function Contributions({model, features, answer: {explanation, prediction, classes}}: ModelProps & {answer: Tried}) {
  const unit = UNITS[explanation.unit] ?? 'answer', target = model.schema.target;
  const about = target === undefined ? `the ${unit} of “${visible(classes[prediction.label] ?? '')}”` : 'the number';
  if (explanation.features.length === 0) return null;
  return <Section title="What each feature adds">
    <BarTable caption={`To ${about}, which is ${significant(explanation.bias)} before any split; the largest first, either way`} heads={['feature', 'adds']} what="contributions"
      bars={explanation.features.map(each => {
        const feature = model.schema.features[each.feature];
        const value = feature === undefined ? significant(each.value) : valueText(feature, each.value);
        return {key: each.feature, value: each.contribution, text: signed(each.contribution),
          name: <><Name text={each.name || features[each.feature]?.name || ''} most={40}/> <span class="sure">= <Name text={value} most={30}/></span></>};
      })}/>
    <Remark>Features that are not listed are on none of the row's ways. With what the model says before any split they add up to the answer, before that is cut to what is possible.</Remark>
  </Section>;
}

function Ways({model, features, answer: {explanation}}: ModelProps & {answer: Tried}) {
  const {trees} = explanation;
  const [chosen, setChosen] = useState<number | null>(null);
  const [inView, setInView] = useState<number | null>(null);
  if (model.forest === undefined || trees.length === 0 || isBeyondThisConsole(model)) return null;
  const leaves = new Map(trees.map(({tree, leaf}) => [tree, leaf]));
  // A tree of one leaf adds the same to every row.
  const tree = chosen ?? (trees.find(({steps}) => steps.length > 0) ?? trees[0]!).tree, named = trees.slice(0, TREES_NAMED);
  return <Section title="Its way through the trees" aside={trees.length > 1 ? 'Trees that add most are first.' : undefined}>
    {trees.length > 1 && <p class="actions">{named.map(path => <button key={path.tree} type="button" class="small" aria-pressed={path.tree === (inView ?? tree)} onClick={() => { setChosen(path.tree); setInView(path.tree); }}>
      tree {path.tree} <span class="n">{signed(path.contribution)}</span></button>)}
      {trees.length > named.length && <span class="problem">and {count(trees.length - named.length)} more</span>}</p>}
    <ForestView key={tree} forest={model.forest} features={features} note={leafNote(model)} tree={tree} onTree={setInView} way={number => leaves.get(number) ?? null}/>
  </Section>;
}
