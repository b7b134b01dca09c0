/** A labelled field of a form. */

import { useId } from 'preact/hooks';
import type { ComponentChildren, JSX } from 'preact';

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  /** Takes the whole width of a form with columns. */
  readonly isWide?: boolean;
  /** Gets the identifiers that tie the control to its label and hint. */
  readonly control: (ids: { readonly id: string; readonly 'aria-describedby'?: string }) => JSX.Element;
}

export function Field({ label, hint, isWide = false, control }: FieldProps) {
  const id = useId();
  const hintId = `${id}-hint`;
  return (
    <div class={isWide ? 'field wide' : 'field'}>
      <label for={id}>{label}</label>
      {control({ id, ...(hint !== undefined && { 'aria-describedby': hintId }) })}
      {hint !== undefined && (
        <p class="hint" id={hintId}>
          {hint}
        </p>
      )}
    </div>
  );
}
