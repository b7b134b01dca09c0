/** A labelled choice of one of several, in a list that opens. */

import { Field } from '../field';

/** A choice of everything, in filters. */
export const ALL = ['', 'all'] as const;

interface ChoiceFieldProps {
  readonly label: string;
  readonly choices: readonly (readonly [value: string, words: string])[];
  readonly value: string;
  readonly onValue: (value: string) => void;
  /** For long texts. */
  readonly isWide?: boolean;
}

export function ChoiceField({ label, choices, value, onValue, isWide = false }: ChoiceFieldProps) {
  return (
    <Field
      label={label}
      isWide={isWide}
      control={(ids) => (
        <select
          {...ids}
          value={value}
          onChange={({ currentTarget }) => {
            onValue(currentTarget.value);
          }}
        >
          {choices.map(([each, words]) => (
            <option key={each} value={each}>
              {words}
            </option>
          ))}
        </select>
      )}
    />
  );
}
