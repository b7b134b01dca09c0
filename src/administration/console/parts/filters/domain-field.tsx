/** The choice of a domain of the configuration. */

import { ALL, ChoiceField } from './choice-field';

interface DomainFieldProps {
  readonly domains: readonly string[];
  readonly value: string;
  readonly onValue: (domain: string) => void;
  /** Whether no domain is a choice, for all of them. */
  readonly allowsAll?: boolean;
}

export function DomainField({ domains, value, onValue, allowsAll = false }: DomainFieldProps) {
  const names = value === '' || domains.includes(value) ? domains : [value, ...domains];
  const choices = [...(allowsAll ? [ALL] : []), ...names.map((name) => [name, name] as const)];
  return <ChoiceField label="Domain" choices={choices} value={value} onValue={onValue} />;
}
