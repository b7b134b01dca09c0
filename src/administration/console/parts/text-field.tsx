/** A labelled field for a text. */

import type { ComponentChildren } from 'preact';
import { Field } from './field';

interface TextFieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly value: string;
  readonly onValue: (value: string) => void;
  /** Reports the text when the reader has ended it, not with each key. */
  readonly isWhole?: boolean;
  readonly isSearch?: boolean;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly maxLength?: number;
  /** The identifier of a list of texts to choose from. */
  readonly list?: string;
}

export function TextField({ label, hint, onValue, isWhole = false, isSearch = false, ...attributes }: TextFieldProps) {
  const report = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => {
    onValue(currentTarget.value);
  };
  return (
    <Field
      label={label}
      {...(hint !== undefined && { hint })}
      control={(ids) => (
        <input {...ids} {...attributes} type={isSearch ? 'search' : 'text'} {...(isWhole ? { onChange: report } : { onInput: report })} />
      )}
    />
  );
}
