/** A button that stays pressed, for options. */
export function Toggle(props: {
  label: string;
  title?: string;
  on: boolean;
  onChange(on: boolean): void;
}) {
  return (
    <button
      type="button"
      class="toggle"
      aria-pressed={props.on}
      title={props.title}
      onClick={() => props.onChange(!props.on)}
    >
      {props.label}
    </button>
  );
}
