/** The fields that changes share: until when, and why. */

import { ChoiceField } from '../../parts/filters/choice-field';
import { Field } from '../../parts/field';
import { TextField } from '../../parts/text-field';
import { HOUR_MS } from '../../api/show';

/** How long a change lasts, in milliseconds; 0: it has no end. */
export const SPANS = {
  '1 hour': HOUR_MS,
  '8 hours': 8 * HOUR_MS,
  '1 day': 24 * HOUR_MS,
  '7 days': 168 * HOUR_MS,
  '30 days': 720 * HOUR_MS,
  'no end': 0,
} as const;

export type Span = keyof typeof SPANS;

export function untilOf(span: Span): { readonly until?: string } {
  return SPANS[span] === 0 ? {} : { until: new Date(Date.now() + SPANS[span]).toISOString() };
}

interface ChangeFieldProps<Value> {
  readonly value: Value;
  readonly onValue: (value: Value) => void;
}

export function SpanField({ value, onValue }: ChangeFieldProps<Span>) {
  const choices = Object.keys(SPANS).map((each) => [each, each] as const);
  return (
    <ChoiceField
      label="Lasts"
      choices={choices}
      value={value}
      onValue={(span) => {
        onValue(span as Span);
      }}
    />
  );
}

/** Bytes of a reason, as the API has them. */
const REASON_MAX = 200;

export function ReasonField({ value, onValue }: ChangeFieldProps<string>) {
  return <TextField label="Reason" hint="For the audit log." required maxLength={REASON_MAX} value={value} onValue={onValue} />;
}

interface NumberFieldProps extends ChangeFieldProps<number> {
  readonly label: string;
  readonly min: number;
}

export function NumberField({ label, min, value, onValue }: NumberFieldProps) {
  return (
    <Field
      label={label}
      control={(ids) => (
        <input
          {...ids}
          type="number"
          required
          min={min}
          max={Number.MAX_SAFE_INTEGER}
          value={value}
          onInput={({ currentTarget }) => {
            onValue(currentTarget.valueAsNumber);
          }}
        />
      )}
    />
  );
}
