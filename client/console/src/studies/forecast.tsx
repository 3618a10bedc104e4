// Forecasts for studies, planned and existing.

import {MechanismSchema, type Interval, type Outlook, type PreviewStudyResponse} from 'proto/study_pb';
import {nameOf} from '../parts/enums';
import {count, countOf, decimal, delta, epsilon, parseCount, signedDecimal} from '../parts/format';
import {Remark} from '../parts/layout';
import {parseNumbers, type NumberList} from '../parts/number_list';
import {Table} from '../parts/table';
import {Name} from '../parts/text';

export const MOST_FORECASTS = 8;

/** How many devices are expected to answer, in each case to forecast: "1000, 10000". */
export function parseDevices(text: string): NumberList<number> {
  return parseNumbers(text, {what: 'numbers of devices', mayBeEmpty: true, most: MOST_FORECASTS, parse: part => parseCount(part, 1, 1e12)});
}

type Range = Pick<Interval, 'low' | 'mean' | 'high'>;

/** "0.812 (0.790 to 0.830)", or "–". */
export function rangeText(range: Range | undefined): string {
  return range === undefined ? '–' : `${decimal(range.mean)} (${decimal(range.low)} to ${decimal(range.high)})`;
}

/** The accuracy or, where a number is predicted, the root mean squared error. */
export function accuracyOf(outlook: Outlook): Range | undefined {
  return outlook.accuracy ?? outlook.rmse;
}

export function publicOnlyOf(forecast: PreviewStudyResponse): Range | undefined {
  return forecast.publicOnly ?? forecast.publicOnlyRmse;
}

/** One line per epsilon and number of devices. */
export function OutlookTable({forecast, withEpsilon}: {forecast: PreviewStudyResponse; withEpsilon: boolean}) {
  const isRegression = forecast.publicOnlyRmse !== undefined || forecast.outlooks.some(outlook => outlook.rmse !== undefined);
  const hasLabels = forecast.outlooks.some(outlook => accuracyOf(outlook) !== undefined);
  const hasReaders = forecast.outlooks.some(outlook => outlook.readersEpsilonNanos > 0n);
  return <>
    <Table caption={`Forecast from ${countOf(forecast.publicRows, 'public row')}; intervals are of 90 %`} rows={forecast.outlooks} rowKey={(_, i) => i} columns={[
      ...(withEpsilon ? [{head: 'epsilon', number: true, cell: (outlook: Outlook) => epsilon(outlook.epsilonNanos)}] : []),
      {head: 'reports', number: true, cell: outlook => count(outlook.devices)},
      ...(hasLabels ? [
        {head: isRegression ? 'RMSE' : 'accuracy', number: true, cell: (outlook: Outlook) => rangeText(accuracyOf(outlook))},
        {head: 'gain', number: true, cell: (outlook: Outlook) => outlook.gainInterval === undefined ? signedDecimal(outlook.gain)
          : `${signedDecimal(outlook.gain)} (${signedDecimal(outlook.gainInterval.low)} to ${signedDecimal(outlook.gainInterval.high)})`},
      ] : []),
      {head: 'worth rows', number: true, cell: outlook => count(Math.round(outlook.equivalentRows))},
      {head: 'a report', cell: outlook => <span class="when">{nameOf(MechanismSchema, outlook.mechanism)}, {countOf(outlook.payloadBytes, 'byte')}</span>},
      ...(hasReaders ? [{head: 'readers\' epsilon', number: true, cell: (outlook: Outlook) =>
        outlook.readersEpsilonNanos === 0n ? '–' : `${epsilon(outlook.readersEpsilonNanos)}, δ ${delta(outlook.readersDeltaAtto)}`}] : []),
    ]}/>
    {publicOnlyOf(forecast) !== undefined && <Remark>The public labels alone, without any report: {rangeText(publicOnlyOf(forecast))}. Gain is over that; what reports are worth is counted in labelled public rows.</Remark>}
    {hasReaders && <Remark>Readers' epsilon is promised besides, towards whoever sees only models built after sealing (docs/threat-model.md).</Remark>}
    {forecast.publicFeatures.length > 0 && <Table caption="What it is worth that a feature is public" rows={forecast.publicFeatures} rowKey={worth => worth.name} columns={[
      {head: 'feature', cell: worth => <Name text={worth.name}/>},
      {head: 'gain', number: true, cell: worth => signedDecimal(worth.gain)},
      {head: 'worth rows', number: true, cell: worth => count(Math.round(worth.equivalentRows))},
    ]}/>}
  </>;
}
