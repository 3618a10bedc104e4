// Line charts over time or along an axis, drawn by uPlot in the colours of the pages.

import {useEffect, useRef, useState} from 'preact/hooks';
import uPlot from 'uplot';

export interface ChartSeries {
  name: string;
  /** One per place on the x axis; null where nothing is known. */
  values: readonly (number | null)[];
  /** Draws a band from low to high around the values. */
  band?: {low: readonly (number | null)[]; high: readonly (number | null)[]};
  /** Points without a line between them. */
  points?: boolean;
}

export interface ChartProps {
  /** What the chart shows, in a sentence. Screen readers get it, not the drawing; the page has the numbers too. */
  description: string;
  x: readonly number[];
  series: readonly ChartSeries[];
  /** x is seconds since 1970, or a number on a linear or logarithmic axis. */
  xKind?: 'time' | 'number' | 'log';
  xLabel?: string;
  yLabel?: string;
  /** Bars from 0 instead of lines: counts per step of time. */
  steps?: boolean;
  yRange?: [number, number];
  format?: (value: number) => string;
  height?: number;
}

const NAMES = ['s0', 's1', 's2', 's3', 's4', 's5'] as const;

function readColours(element: Element): Record<string, string> {
  const style = getComputedStyle(element);
  return Object.fromEntries([...NAMES, 'quiet', 'rule', 'ground'].map(name => [name, style.getPropertyValue(`--${name}`).trim()]));
}

function scheme(): MediaQueryList {
  return matchMedia('(prefers-color-scheme: dark)');
}

function optionsOf(props: ChartProps, width: number, colour: Record<string, string>): uPlot.Options {
  const {xKind = 'number', format, steps = false} = props;
  const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
  const axis = {stroke: colour.quiet!, font, labelFont: font, grid: {stroke: colour.rule!, width: 1}, ticks: {show: false}};
  const series: uPlot.Series[] = [{}], bands: uPlot.Band[] = [];
  props.series.forEach(({name, band, points}, i) => {
    const stroke = colour[NAMES[i % NAMES.length]!]!;
    const paths = steps ? uPlot.paths.stepped!({align: 1}) : undefined;
    series.push({label: name, stroke, width: points ? 0 : 2, points: {show: points ?? false, size: 7, fill: stroke},
      ...(steps ? {fill: `${stroke}22`} : {}), ...(paths ? {paths} : {}),
      value: (_, value) => value === null ? '–' : format ? format(value) : String(value)});
    if (band) {
      series.push({label: `${name}, high`, stroke: 'transparent', width: 0, points: {show: false}});
      series.push({label: `${name}, low`, stroke: 'transparent', width: 0, points: {show: false}});
      bands.push({series: [series.length - 2, series.length - 1], fill: `${stroke}26`});
    }
  });
  return {
    width, height: props.height ?? 240, series, bands, legend: {show: false}, padding: [8, 30, 0, 0], cursor: {show: true, drag: {x: false, y: false}, points: {size: 6}},
    scales: {x: {time: xKind === 'time', ...(xKind === 'log' ? {distr: 3 as const} : {})},
      y: {range: props.yRange ?? ((_, low, high) => steps ? [0, Math.max(high, 1) * 1.05] : uPlot.rangeNum(low, high, 0.1, false))}},
    axes: [{...axis, ...(props.xLabel ? {label: props.xLabel} : {}), grid: {show: false},
      // Dates are written year first, as everywhere here, not with the reader's own month names.
      ...(xKind === 'time' ? {values: TIMES} : {})},
    {...axis, size: 58, ...(steps ? {incrs: WHOLE_STEPS} : {}), ...(props.yLabel ? {label: props.yLabel} : {}), ...(format ? {values: (_: uPlot, ticks: number[]) => ticks.map(format)} : {})}],
  };
}

// Distances between ticks of counts.
const WHOLE_STEPS = Array.from({length: 16}, (_, power) => [1, 2, 5].map(digit => digit * 10 ** power)).flat();

// For steps of at least a day, an hour, a minute, a second. The second text is added where the day changes.
const TIMES: uPlot.Axis.Values = [
  [86400, '{YYYY}-{MM}-{DD}', null, null, null, null, null, null, 1],
  [60, '{HH}:{mm}', null, null, '\n{YYYY}-{MM}-{DD}', null, null, null, 1],
  [1, '{HH}:{mm}:{ss}', null, null, '\n{YYYY}-{MM}-{DD}', null, null, null, 1],
];

function dataOf({x, series}: ChartProps): uPlot.AlignedData {
  const columns: (number | null)[][] = [];
  for (const {values, band} of series) {
    columns.push([...values]);
    if (band) columns.push([...band.high], [...band.low]);
  }
  return [[...x], ...columns] as uPlot.AlignedData;
}

/** A chart with its legend, as wide as its place. */
export function Chart(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [isDark, setDark] = useState(scheme().matches);
  const [at, setAt] = useState<number | null>(null);
  const shape = JSON.stringify([props.series.map(({name, band, points}) => [name, Boolean(band), points]), props.xKind, props.xLabel,
    props.yLabel, props.steps, props.yRange, props.height]);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const media = scheme(), follow = () => setDark(media.matches);
    media.addEventListener('change', follow);
    return () => media.removeEventListener('change', follow);
  }, []);
  useEffect(() => {
    const element = place.current!;
    const options = optionsOf(latest.current, element.clientWidth, readColours(element));
    options.hooks = {setCursor: [self => setAt(self.cursor.idx ?? null)]};
    const made = new uPlot(options, dataOf(latest.current), element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({width: element.clientWidth, height: options.height}));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape, isDark]);
  useEffect(() => plot.current?.setData(dataOf(props)), [props.x, props.series]);
  const format = props.format ?? String;
  return <figure class="plot">
    <ul class="legend" aria-hidden="true">{props.series.map(({name, values}, i) => {
      const value = at === null ? null : values[at];
      return <li key={name} class={NAMES[i % NAMES.length]!}><span class="swatch"/>{name}
        {value !== null && value !== undefined && <b class="n"> {format(value)}</b>}</li>;
    })}</ul>
    <div ref={place} class="canvas" role="img" aria-label={props.description}/>
  </figure>;
}
