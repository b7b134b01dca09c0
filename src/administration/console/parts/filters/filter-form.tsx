/** The form above a list that says what the list shows; each field takes effect at once. */

import type { ComponentChildren } from 'preact';

interface FilterFormProps {
  readonly label?: string;
  readonly children: ComponentChildren;
}

export function FilterForm({ label, children }: FilterFormProps) {
  return (
    <form
      class="filters"
      role="search"
      {...(label !== undefined && { 'aria-label': label })}
      onSubmit={(event) => {
        event.preventDefault();
      }}
    >
      {children}
    </form>
  );
}
