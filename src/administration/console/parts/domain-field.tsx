/** The choice of a domain of the configuration. */

import { Field } from './field';

interface DomainFieldProps {
  readonly domains: readonly string[];
  readonly value: string;
  readonly onValue: (domain: string) => void;
  /** Whether no domain is a choice, for all of them. */
  readonly allowsAll?: boolean;
}

export function DomainField({ domains, value, onValue, allowsAll = false }: DomainFieldProps) {
  return (
    <Field
      label="Domain"
      control={(ids) => (
        <select
          {...ids}
          value={value}
          onChange={({ currentTarget }) => {
            onValue(currentTarget.value);
          }}
        >
          {allowsAll && <option value="">all</option>}
          {value !== '' && !domains.includes(value) && <option>{value}</option>}
          {domains.map((domain) => (
            <option key={domain}>{domain}</option>
          ))}
        </select>
      )}
    />
  );
}
