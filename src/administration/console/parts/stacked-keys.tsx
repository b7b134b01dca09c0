/** Shows hits by minute over the last hour, stacked by the keys that had most. Each key leads to its tenant. */

import { useState } from 'preact/hooks';
import type { Reply } from '../api/client';
import { isCut } from '../api/descriptor-text';
import { linkTo } from '../api/route';
import { showCount } from '../api/show';

interface StackedKeysProps {
  readonly title: string;
  readonly history: Reply<'listKeyHistory'>;
}

/** Keys with a colour of their own; the others are one layer. */
const KEYS = 6;

const WIDTH = 720;
const HEIGHT = 150;

const HOUR_S = 3_600;
const MINUTE_S = 60;

interface Layer {
  readonly id: string;
  readonly values: readonly number[];
  /** Absent: the other keys. */
  readonly key?: Reply<'listKeyHistory'>['items'][number];
}

export function StackedKeys({ title, history: { at, items, others } }: StackedKeysProps) {
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const rest = at.map((_, minute) => items.slice(KEYS).reduce((sum, { hits }) => sum + (hits[minute] ?? 0), others[minute] ?? 0));
  const layers: Layer[] = items.slice(0, KEYS).map((key) => ({ id: `${key.domain} ${key.rule} ${key.entries}`, key, values: key.hits }));
  if (sumOf(rest) > 0) layers.push({ id: '', values: rest });
  const most = Math.max(1, ...at.map((_, minute) => layers.reduce((sum, { values }) => sum + (values[minute] ?? 0), 0)));
  const times = at.map((each) => Date.parse(each) / 1_000);
  return (
    <figure class="stack">
      <figcaption>
        <span class="title">{title}</span> <span class="muted">last hour, at most {showCount(most)} in a minute</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {[0, 0.5, 1].map((share) => (
          <path key={share} class="grid" d={`M0 ${Math.max(0.5, Math.min(HEIGHT - 0.5, HEIGHT * share))}H${WIDTH}`} />
        ))}
        {layers.map((layer, index) => (
          <path
            key={layer.id}
            class={classOf({ layer, index, chosen })}
            d={layerOf({ times, layers, index, most })}
            onClick={() => {
              const link = linkOf(layer);
              if (link !== undefined) location.hash = link;
            }}
          />
        ))}
      </svg>
      <p class="ends muted" aria-hidden="true">
        <span>an hour ago</span>
        <span>now</span>
      </p>
      {layers.length === 0 ? <p class="muted">No key had any.</p> : <Legend title={title} layers={layers} onChosen={setChosen} />}
    </figure>
  );
}

interface LegendProps {
  readonly title: string;
  readonly layers: readonly Layer[];
  /** Undefined: none is chosen. */
  readonly onChosen: (id: string | undefined) => void;
}

function Legend({ title, layers, onChosen }: LegendProps) {
  return (
    <ol class="legend" aria-label={`${title}, by key`}>
      {layers.map((layer, index) => (
        <li
          key={layer.id}
          onMouseEnter={() => {
            onChosen(layer.id);
          }}
          onMouseLeave={() => {
            onChosen(undefined);
          }}
          onFocusCapture={() => {
            onChosen(layer.id);
          }}
          onBlurCapture={() => {
            onChosen(undefined);
          }}
        >
          <span class={`swatch ${colourOf(layer, index)}`} aria-hidden="true" />
          <KeyName layer={layer} /> <b>{showCount(sumOf(layer.values))}</b>
        </li>
      ))}
    </ol>
  );
}

function KeyName({ layer }: { readonly layer: Layer }) {
  const link = linkOf(layer);
  return link === undefined ? <span class="name">{nameOf(layer)}</span> : <a href={link}>{nameOf(layer)}</a>;
}

function nameOf({ key }: Layer): string {
  return key === undefined ? 'other keys' : key.entries;
}

/** Undefined: it leads nowhere. */
function linkOf({ key }: Layer): string | undefined {
  return key === undefined || isCut(key.entries) ? undefined : linkTo('tenant', { domain: key.domain, entries: key.entries });
}

function colourOf({ key }: Layer, index: number): string {
  return key === undefined ? 'rest' : `series-${index + 1}`;
}

interface ClassInput {
  readonly layer: Layer;
  readonly index: number;
  /** The id of the layer that is pointed at. */
  readonly chosen: string | undefined;
}

function classOf({ layer, index, chosen }: ClassInput): string {
  const isFaint = chosen !== undefined && chosen !== layer.id;
  return ['layer', colourOf(layer, index), linkOf(layer) && 'leads', isFaint && 'faint'].filter(Boolean).join(' ');
}

interface LayerInput {
  readonly times: readonly number[];
  readonly layers: readonly Layer[];
  readonly index: number;
  readonly most: number;
}

/** A bar for each minute, on those of the layers below. */
function layerOf({ times, layers, index, most }: LayerInput): string {
  const end = times[times.length - 1] ?? 0;
  const x = (seconds: number) => round(Math.max(0, WIDTH * (1 - (end - seconds) / HOUR_S)));
  const y = (hits: number) => round(HEIGHT * (1 - hits / most));
  return times
    .map((to, minute) => {
      const value = layers[index]?.values[minute] ?? 0;
      if (value === 0 || to <= end - HOUR_S) return '';
      const below = layers.slice(0, index).reduce((sum, { values }) => sum + (values[minute] ?? 0), 0);
      const from = Math.max(to - MINUTE_S, times[minute - 1] ?? -Infinity);
      return `M${x(from)} ${y(below)}V${y(below + value)}H${x(to)}V${y(below)}Z`;
    })
    .join('');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
