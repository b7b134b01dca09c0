/** A choice of one of few, all in sight. */

interface ChoiceProps<Value extends string> {
  readonly legend: string;
  /** Groups the buttons; unique on the page. */
  readonly name: string;
  readonly choices: readonly (readonly [value: Value, words: string])[];
  readonly value: Value;
  readonly onValue: (value: Value) => void;
}

export function Choice<Value extends string>({ legend, name, choices, value, onValue }: ChoiceProps<Value>) {
  return (
    <fieldset class="choice">
      <legend>{legend}</legend>
      {choices.map(([each, words]) => (
        <label key={each}>
          <input
            type="radio"
            name={name}
            checked={each === value}
            onChange={() => {
              onValue(each);
            }}
          />
          {words}
        </label>
      ))}
    </fieldset>
  );
}
