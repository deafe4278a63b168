"""What ``check`` finds; a module a family. Each function looks at one thing, and yields what is wrong with it."""
