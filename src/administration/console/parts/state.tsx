/** A state as a shape, a colour and words: the colour alone says nothing. */

import type { ComponentChildren } from 'preact';

export type StateKind = 'ok' | 'warn' | 'bad' | 'off';

const SHAPES: Readonly<Record<StateKind, string>> = {
  ok: 'M2 6.5 5 9.5 10 3',
  warn: 'M6 1 11.2 10.5H.8zM6 4.4v3M6 8.6v.9',
  bad: 'M2 2 10 10M10 2 2 10',
  off: 'M2 6h8',
};

export function State({ kind, children }: { readonly kind: StateKind; readonly children: ComponentChildren }) {
  return (
    <span class={`state ${kind}`}>
      <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
        <path d={SHAPES[kind]} />
      </svg>
      <span>{children}</span>
    </span>
  );
}
