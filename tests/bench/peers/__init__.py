"""What others keep memories in, asked for the same beside memkit: `--peers` switches them on."""
