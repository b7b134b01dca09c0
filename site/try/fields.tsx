/** The form of the page Try: a field for each setting, with what is wrong with it. */

import type { ComponentChildren } from 'preact';
import { ALGORITHMS } from '../../src/domain/algorithm/algorithms';
import { TIME_UNITS } from '../../src/domain/descriptor/unit';
import { charsMaxOf, type Problem, type SettingName, type Settings } from './settings';

interface FormProps {
  readonly settings: Settings;
  readonly problems: readonly Problem[];
  readonly onChange: (name: SettingName, value: string) => void;
}

export function Form({ settings, problems, onChange }: FormProps) {
  const text = (name: SettingName, label: string, hint?: string) => (
    <Field name={name} label={label} hint={hint} problems={problems}>
      {(ids) => (
        <input
          {...ids}
          type="text"
          spellcheck={false}
          autocomplete="off"
          maxLength={charsMaxOf(name)}
          value={settings[name]}
          onInput={({ currentTarget }) => {
            onChange(name, currentTarget.value);
          }}
        />
      )}
    </Field>
  );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
      }}
    >
      <fieldset>
        <legend>Limit</legend>
        {text('requests', 'Requests')}
        <UnitField settings={settings} problems={problems} onChange={onChange} />
        {text('capacity', 'At once', 'most hits, of a token or leaky bucket')}
        <Algorithms settings={settings} problems={problems} onChange={onChange} />
      </fieldset>
      <fieldset>
        <legend>Arrivals, all together</legend>
        {text('burst', 'Burst', 'requests at once')}
        {text('at', 'Burst at', 'times: 0s 1m30s')}
        {text('rate', 'Steady rate', '20/s or 90/minute')}
        {text('poisson', 'Random rate', 'Poisson, mean: 20/s')}
        {text('seed', 'Seed', 'of the random ones')}
        {text('for', 'Rates for', '1m by default')}
        {text('from', 'Rates from', '0s by default')}
        <ListField settings={settings} problems={problems} onChange={onChange} />
      </fieldset>
      <fieldset>
        <legend>Clients and picture</legend>
        {text('hits', 'Hits', 'of each request')}
        {text('retry', 'After a denial', 'none, honour or a time')}
        {text('retries-max', 'Repetitions', 'of a client, at most')}
        {text('columns', 'Parts', 'of the time, 60 by default')}
      </fieldset>
    </form>
  );
}

interface Ids {
  readonly id: string;
  readonly 'aria-describedby': string;
  readonly 'aria-invalid': boolean;
}

interface FieldProps {
  readonly name: SettingName;
  readonly label: string;
  readonly hint?: string | undefined;
  readonly problems: readonly Problem[];
  readonly children: (ids: Ids) => ComponentChildren;
}

function Field({ name, label, hint, problems, children }: FieldProps) {
  const own = problems.filter(({ setting }) => setting === name);
  const id = `try-${name}`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': `${id}-hint ${id}-problem`, 'aria-invalid': own.length > 0 })}
      <span id={`${id}-hint`} class="hint">
        {hint ?? ''}
      </span>
      <span id={`${id}-problem`} class="problem">
        {own.map(({ message }) => message).join(' ')}
      </span>
    </div>
  );
}

function UnitField({ settings, problems, onChange }: FormProps) {
  return (
    <Field name="unit" label="In each" problems={problems}>
      {(ids) => (
        <select
          {...ids}
          value={settings.unit}
          onChange={({ currentTarget }) => {
            onChange('unit', currentTarget.value);
          }}
        >
          {TIME_UNITS.map((unit) => (
            <option key={unit}>{unit}</option>
          ))}
        </select>
      )}
    </Field>
  );
}

function ListField({ settings, problems, onChange }: FormProps) {
  return (
    <Field name="arrivals" label="Times" hint="one a line: 1.5s, or seconds" problems={problems}>
      {(ids) => (
        <textarea
          {...ids}
          rows={3}
          spellcheck={false}
          maxLength={charsMaxOf('arrivals')}
          value={settings.arrivals}
          onInput={({ currentTarget }) => {
            onChange('arrivals', currentTarget.value);
          }}
        />
      )}
    </Field>
  );
}

function Algorithms({ settings, problems, onChange }: FormProps) {
  const chosen = settings.algorithm.split(',').filter((name) => name !== '');
  const own = problems.filter(({ setting }) => setting === 'algorithm');
  return (
    <div class="algorithms" role="group" aria-label="Algorithms" aria-describedby="try-algorithm-problem">
      {ALGORITHMS.map((name) => (
        <label key={name}>
          <input
            type="checkbox"
            checked={chosen.includes(name)}
            onChange={({ currentTarget: { checked } }) => {
              onChange('algorithm', ALGORITHMS.filter((each) => (each === name ? checked : chosen.includes(each))).join(','));
            }}
          />{' '}
          {name}
        </label>
      ))}
      <span id="try-algorithm-problem" class="problem">
        {own.map(({ message }) => message).join(' ')}
      </span>
    </div>
  );
}
